//! Guests that run natively: the host is at the other end of a connection. See SPEC.md,
//! "Native guests".

use crate::host::{Errno, Host};
use std::cell::{Cell, RefCell};
use std::io::{Error, ErrorKind, Read, Result, Write};

/// What messages are about.
pub mod kind {
    /// A call: kopf_register.
    pub const REGISTER: u8 = 1;
    /// A call: kopf_start.
    pub const START: u8 = 2;
    /// A call: kopf_resume.
    pub const RESUME: u8 = 3;
    /// A call: kopf_cancel.
    pub const CANCEL: u8 = 4;
    /// A call: kopf_release.
    pub const RELEASE: u8 = 5;
    /// A call: kopf_ask.
    pub const ASK: u8 = 6;
    /// A call: kopf_transform.
    pub const TRANSFORM: u8 = 7;
    /// The end of a call.
    pub const ANSWER: u8 = 0x10;
    /// The end of a call that has failed.
    pub const PANICKED: u8 = 0x11;

    pub(super) const LOG: u8 = 0x12;
    pub(super) const SEGMENT: u8 = 0x13;
    pub(super) const STOPPED: u8 = 0x14;
    pub(super) const CONFIG: u8 = 0x15;
    pub(super) const RANDOM: u8 = 0x16;
    pub(super) const EVENT: u8 = 0x17;
    pub(super) const MEMO_GET: u8 = 0x18;
    pub(super) const MEMO_SET: u8 = 0x19;
    pub(super) const INDEX: u8 = 0x1a;
}

/// The largest message, in bytes.
const LARGEST: usize = 64 << 20;

/// A message of the host.
pub struct Message {
    /// One of [`kind`].
    pub kind: u8,
    /// The task that it is about.
    pub task: u32,
    /// The rest.
    pub data: Vec<u8>,
}

/// A connection with a host.
pub struct Connection<S> {
    stream: RefCell<S>,
    /// It is making a call: only meanwhile it can be asked.
    calls: Cell<bool>,
}

impl<S: Read + Write> Connection<S> {
    /// A connection through a stream.
    pub fn new(stream: S) -> Connection<S> {
        Connection { stream: RefCell::new(stream), calls: Cell::new(false) }
    }

    /// The next call of the host; `None` if it has closed the connection.
    pub fn call(&self) -> Result<Option<Message>> {
        self.calls.set(false);
        let message = match self.receive() {
            Err(err) if err.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            message => message?,
        };
        self.calls.set(true);
        Ok(Some(message))
    }

    fn receive(&self) -> Result<Message> {
        let mut stream = self.stream.borrow_mut();
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [kind, t0, t1, t2, t3, size @ ..] = header;
        let size = u32::from_le_bytes(size) as usize;
        if size > LARGEST {
            return Err(Error::other(format!("a message of {size} bytes, the limit is {LARGEST}")));
        }
        let mut data = vec![0; size];
        stream.read_exact(&mut data)?;
        Ok(Message { kind, task: u32::from_le_bytes([t0, t1, t2, t3]), data })
    }

    /// Sends a message.
    pub fn send(&self, kind: u8, task: u32, parts: &[&[u8]]) -> Result<()> {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        let mut text = Vec::with_capacity(size + 9);
        text.push(kind);
        text.extend_from_slice(&task.to_le_bytes());
        text.extend_from_slice(&(size as u32).to_le_bytes());
        parts.iter().for_each(|part| text.extend_from_slice(part));
        self.stream.borrow_mut().write_all(&text)
    }

    /// Asks the host: its result, and the output.
    fn ask(&self, kind: u8, task: u32, parts: &[&[u8]]) -> std::result::Result<(i64, Vec<u8>), Errno> {
        if !self.calls.get() {
            return Err(Errno::INVALID);
        }
        // Without a connection, the next call reports it.
        let answer = self.send(kind, task, parts).and_then(|()| self.receive());
        let mut data = answer.map_err(|_| Errno::INVALID)?.data;
        let result = i64::from_le_bytes(*data.first_chunk().ok_or(Errno::INVALID)?);
        data.drain(..size_of_val(&result));
        if result < 0 { Err(Errno(result)) } else { Ok((result, data)) }
    }
}

fn length(bytes: &[u8]) -> [u8; 4] {
    (bytes.len() as u32).to_le_bytes()
}

impl<S: Read + Write> Host for Connection<S> {
    fn log(&self, task: u32, level: u32, text: &str) {
        if self.ask(kind::LOG, task, &[&level.to_le_bytes(), text.as_bytes()]).is_err() {
            eprintln!("{text}");
        }
    }

    fn segment(&self, task: u32, tag: u32) -> std::result::Result<Vec<u8>, Errno> {
        self.ask(kind::SEGMENT, task, &[&tag.to_le_bytes()]).map(|(_, data)| data)
    }

    fn stopped(&self, task: u32) -> u32 {
        self.ask(kind::STOPPED, task, &[]).map_or(0, |(bits, _)| bits as u32)
    }

    fn config(&self, key: &str) -> std::result::Result<Vec<u8>, Errno> {
        self.ask(kind::CONFIG, 0, &[key.as_bytes()]).map(|(_, data)| data)
    }

    fn random(&self, buffer: &mut [u8]) -> std::result::Result<(), Errno> {
        let (_, data) = self.ask(kind::RANDOM, 0, &[&length(buffer)])?;
        if data.len() != buffer.len() {
            return Err(Errno::INVALID);
        }
        buffer.copy_from_slice(&data);
        Ok(())
    }

    fn event(&self, task: u32, event: &[u8]) -> std::result::Result<(), Errno> {
        self.ask(kind::EVENT, task, &[event]).map(drop)
    }

    fn memo_get(&self, task: u32, scope: u32, key: &str) -> std::result::Result<(i64, Vec<u8>), Errno> {
        self.ask(kind::MEMO_GET, task, &[&scope.to_le_bytes(), key.as_bytes()])
    }

    fn memo_set(
        &self,
        task: u32,
        scope: u32,
        key: &str,
        value: &[u8],
        version: i64,
    ) -> std::result::Result<i64, Errno> {
        let key = key.as_bytes();
        let parts: [&[u8]; 5] = [&scope.to_le_bytes(), &version.to_le_bytes(), &length(key), key, value];
        self.ask(kind::MEMO_SET, task, &parts).map(|(version, _)| version)
    }

    fn index(&self, task: u32, op: u32, name: &str, key: &[u8]) -> std::result::Result<Vec<u8>, Errno> {
        let parts: [&[u8]; 4] = [&op.to_le_bytes(), &length(name.as_bytes()), name.as_bytes(), key];
        self.ask(kind::INDEX, task, &parts).map(|(_, data)| data)
    }
}

/// Leaves Ctrl-C to the host, which gets it as well and ends this program when it is done, and
/// hands SIGTERM on to it. The host is the process with this number.
#[cfg(unix)]
pub fn leave_signals(host: u32) {
    use std::sync::atomic::{AtomicI32, Ordering};

    const SIGINT: i32 = 2;
    const SIGTERM: i32 = 15;
    const SIG_IGN: usize = 1;
    static HOST: AtomicI32 = AtomicI32::new(0);
    unsafe extern "C" {
        fn signal(number: i32, handler: usize) -> usize;
        safe fn kill(process: i32, number: i32) -> i32;
    }
    extern "C" fn hand_on(number: i32) {
        let host = HOST.load(Ordering::Relaxed);
        if host > 0 {
            kill(host, number);
        }
    }
    HOST.store(host as i32, Ordering::Relaxed);
    let handler: extern "C" fn(i32) = hand_on;
    // SAFETY: the handler does nothing but to read an atomic number and to call `kill`, both of
    // which are allowed in handlers of signals.
    unsafe {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, handler as usize);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> (Connection<UnixStream>, Connection<UnixStream>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Connection::new(ours), Connection::new(theirs))
    }

    #[test]
    fn the_host_is_asked_during_calls_only() {
        let (guest, host) = pair();
        assert_eq!(guest.config("key"), Err(Errno::INVALID));
        host.send(kind::START, 7, &[b"frame"]).unwrap();
        let call = guest.call().unwrap().unwrap();
        assert_eq!((call.kind, call.task, call.data.as_slice()), (kind::START, 7, &b"frame"[..]));

        host.send(8, 7, &[&3i64.to_le_bytes(), b"value"]).unwrap(); // before it is asked
        assert_eq!(guest.memo_get(7, 1, "key"), Ok((3, b"value".to_vec())));
        let asked = host.receive().unwrap();
        assert_eq!((asked.kind, asked.data.as_slice()), (kind::MEMO_GET, &b"\x01\0\0\0key"[..]));

        host.send(8, 7, &[&(-2i64).to_le_bytes()]).unwrap();
        assert_eq!(guest.memo_set(7, 0, "k", b"1", -1), Err(Errno::CONFLICT));
        assert_eq!(host.receive().unwrap().data, b"\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0k1");
    }

    #[test]
    fn the_connection_may_end_anywhere() {
        let (guest, host) = pair();
        drop(host);
        assert!(guest.call().unwrap().is_none());
        assert_eq!(guest.index(1, 0, "i", b"1"), Err(Errno::INVALID));
    }

    #[test]
    fn messages_are_bounded() {
        let (guest, host) = pair();
        host.stream.borrow_mut().write_all(&[2, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]).unwrap();
        assert!(guest.call().is_err_and(|err| err.to_string().contains("the limit is")));
    }
}
