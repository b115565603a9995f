//! The functions of the host. See SPEC.md, "Host functions".

/// An error of a host function: a negative number of SPEC.md, "Passing data".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i64);

impl Errno {
    /// There is no such value.
    pub const ABSENT: Errno = Errno(-1);
    /// The value was changed meanwhile.
    pub const CONFLICT: Errno = Errno(-2);
    /// Not granted to this operator.
    pub const DENIED: Errno = Errno(-4);
    /// Over a limit of the host.
    pub const TOO_LARGE: Errno = Errno(-5);
    /// Not valid.
    pub const INVALID: Errno = Errno(-6);
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match *self {
            Errno::ABSENT => "there is no such value",
            Errno::CONFLICT => "the value was changed meanwhile",
            Errno(-3) => "outside of the memory",
            Errno::DENIED => "not granted to this operator",
            Errno::TOO_LARGE => "over a limit of the host",
            Errno::INVALID => "not valid",
            _ => "unknown error of the host",
        })
    }
}

impl std::error::Error for Errno {}

/// Whose memo: see [`Host::memo_get`].
pub mod scope {
    /// That of the handled object.
    pub const OBJECT: u32 = 0;
    /// That of the operator.
    pub const OPERATOR: u32 = 1;
}

/// Overwrites a value of a memo, whatever its version.
pub const ANY_VERSION: i64 = -1;

/// Questions about an index: see [`Host::index`].
pub mod index {
    /// The values of a key.
    pub const GET: u32 = 0;
    /// All keys.
    pub const KEYS: u32 = 1;
    /// The number of keys.
    pub const LEN: u32 = 2;
    /// Whether there is the key.
    pub const HAS: u32 = 3;
}

/// What answers the short questions of a guest. Nothing here blocks. In a guest it
/// is the host; in tests, `kopf::testing`.
pub trait Host {
    /// Writes a line to the log of the object.
    fn log(&self, task: u32, level: u32, text: &str);
    /// A segment of the running invocation.
    fn segment(&self, task: u32, tag: u32) -> Result<Vec<u8>, Errno>;
    /// The stop reasons of a daemon, as bits.
    fn stopped(&self, task: u32) -> u32;
    /// A value of the configuration, secrets included.
    fn config(&self, key: &str) -> Result<Vec<u8>, Errno>;
    /// Fills the buffer with random bytes.
    fn random(&self, buffer: &mut [u8]) -> Result<(), Errno>;
    /// Posts a Kubernetes event.
    fn event(&self, task: u32, event: &[u8]) -> Result<(), Errno>;
    /// The version and the JSON value of a key of a memo.
    fn memo_get(&self, task: u32, scope: u32, key: &str) -> Result<(i64, Vec<u8>), Errno>;
    /// Stores a JSON value in a memo, or deletes it if it is empty; the new version.
    fn memo_set(&self, task: u32, scope: u32, key: &str, value: &[u8], version: i64) -> Result<i64, Errno>;
    /// The answer about an index, as JSON.
    fn index(&self, task: u32, op: u32, name: &str, key: &[u8]) -> Result<Vec<u8>, Errno>;
}

/// A host that has nothing: that of native builds outside of tests.
pub struct Noone;

impl Host for Noone {
    fn log(&self, _: u32, _: u32, _: &str) {}
    fn segment(&self, _: u32, _: u32) -> Result<Vec<u8>, Errno> {
        Err(Errno::ABSENT)
    }
    fn stopped(&self, _: u32) -> u32 {
        0
    }
    fn config(&self, _: &str) -> Result<Vec<u8>, Errno> {
        Err(Errno::ABSENT)
    }
    fn random(&self, _: &mut [u8]) -> Result<(), Errno> {
        Ok(())
    }
    fn event(&self, _: u32, _: &[u8]) -> Result<(), Errno> {
        Ok(())
    }
    fn memo_get(&self, _: u32, _: u32, _: &str) -> Result<(i64, Vec<u8>), Errno> {
        Err(Errno::ABSENT)
    }
    fn memo_set(&self, _: u32, _: u32, _: &str, _: &[u8], _: i64) -> Result<i64, Errno> {
        Err(Errno::DENIED)
    }
    fn index(&self, _: u32, _: u32, _: &str, _: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::ABSENT)
    }
}
