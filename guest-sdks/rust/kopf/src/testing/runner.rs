//! Whole command lines of kopf.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Runs a whole command line of kopf in the background of a test: an operator on a real
/// cluster, as its users run it.
///
/// ```no_run
/// use kopf::testing::Runner;
/// use std::time::Duration;
///
/// let runner = Runner::start(["run", "operator.wasm", "-n", "default", "--verbose"]);
/// runner.until("Handling cycle is finished", Duration::from_secs(60));
/// assert_eq!(runner.stop(), 0);
/// ```
///
/// The program is kopf on the `PATH`, or that of the variable `KOPF`. The cluster is that of
/// kubectl. A test that neither stops the command nor waits for its end panics.
///
/// Kopf: `kopf.testing.KopfRunner`.
pub struct Runner {
    child: Child,
    output: Arc<Output>,
    readers: Vec<JoinHandle<()>>,
    done: bool,
}

/// Runs `kopf test` with the arguments: files of scenarios, and flags. It needs no cluster.
///
/// ```no_run
/// kopf::testing::scenarios(["--module", "operator.wasm", "operator_test.yaml"]);
/// ```
///
/// The program is kopf on the `PATH`, or that of the variable `KOPF`.
///
/// # Panics
///
/// A scenario fails, or the program cannot be started. The message is its output.
pub fn scenarios<A: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = A>) {
    let program = program();
    let mut command = Command::new(&program);
    command.arg("test").args(args);
    match command.output() {
        Ok(output) if output.status.success() => (),
        Ok(output) => panic!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        Err(err) => panic!("{}: {err} (set KOPF to the path of the program)", program.to_string_lossy()),
    }
}

/// The program of the command line.
fn program() -> std::ffi::OsString {
    std::env::var_os("KOPF").unwrap_or_else(|| "kopf".into())
}

/// How long an operator may take to end.
const STOP_TIME: Duration = Duration::from_secs(30);

/// What the command has written so far.
#[derive(Default)]
struct Output {
    text: Mutex<String>,
    changed: Condvar,
}

impl Output {
    fn now(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Collects what comes from a stream.
    fn collect(&self, mut stream: impl Read) {
        let mut buffer = [0; 4096];
        while let Ok(size @ 1..) = stream.read(&mut buffer) {
            self.now().push_str(&String::from_utf8_lossy(&buffer[..size]));
            self.changed.notify_all();
        }
    }
}

impl Runner {
    /// Starts the command with these arguments.
    ///
    /// # Panics
    ///
    /// It cannot be started.
    pub fn start<A: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = A>) -> Runner {
        let program = program();
        let mut command = Command::new(&program);
        command.args(args);
        match Runner::spawn(command) {
            Ok(runner) => runner,
            Err(err) => panic!("{}: {err} (set KOPF to the path of the program)", program.to_string_lossy()),
        }
    }

    fn spawn(mut command: Command) -> io::Result<Runner> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let output = Arc::new(Output::default());
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
            child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        ];
        let readers = streams.into_iter().flatten().map(|stream| {
            let output = output.clone();
            thread::spawn(move || output.collect(stream))
        });
        Ok(Runner { child, readers: readers.collect(), output, done: false })
    }

    /// Waits until the output contains the text.
    ///
    /// # Panics
    ///
    /// It takes longer than the patience, or the command ends before.
    pub fn until(&self, text: &str, patience: Duration) {
        let end = Instant::now() + patience;
        let mut output = self.output.now();
        while !output.contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            let ended = self.readers.iter().all(JoinHandle::is_finished);
            assert!(!ended && !left.is_zero(), "it did not say {text:?} within {patience:?}:\n{}", *output);
            let pause = left.min(Duration::from_millis(100)); // the end of the command does not wake this thread
            output = self.output.changed.wait_timeout(output, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Stops the command as Ctrl-C does, unless it has ended, and returns its exit code; that of a
    /// command which a signal has ended is -1.
    ///
    /// # Panics
    ///
    /// It does not end within 30 seconds.
    pub fn stop(mut self) -> i32 {
        if matches!(self.child.try_wait(), Ok(None)) {
            // The shell has this command built in; a program for it is not installed everywhere.
            let command = format!("kill -INT {}", self.child.id());
            let sent = Command::new("sh").args(["-c", &command]).status();
            assert!(sent.as_ref().is_ok_and(ExitStatus::success), "{command}: {sent:?}");
        }
        self.wait(STOP_TIME)
    }

    /// Waits until the command ends by itself, and returns its exit code.
    ///
    /// # Panics
    ///
    /// It takes longer than the patience.
    pub fn wait(mut self, patience: Duration) -> i32 {
        let end = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.done = true;
                    return status.code().unwrap_or(-1);
                }
                Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
                other => panic!("it did not end within {patience:?} ({other:?}):\n{}", self.output()),
            }
        }
    }

    /// What the command has written so far: the log, and what modules print.
    pub fn output(&self) -> String {
        self.output.now().clone()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let ended = matches!(self.child.try_wait(), Ok(Some(_)));
        let _ = self.child.kill(); // it has ended, or it ends
        let _ = self.child.wait();
        if !ended && !thread::panicking() {
            panic!("the command was not stopped by the test");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a script in a shell. Commands that a script starts in the background ignore SIGINT, and
    /// so do their children, such as the tests of a job: a shell cannot change that, `env` can.
    fn sh(script: &str) -> Runner {
        let mut command = Command::new(if cfg!(target_os = "linux") { "env" } else { "sh" });
        if cfg!(target_os = "linux") {
            command.args(["--default-signal=INT", "sh"]);
        }
        command.args(["-c", script]);
        Runner::spawn(command).unwrap()
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn it_waits_and_stops() {
        let runner = sh("trap 'echo bye; exit 3' INT; echo one; echo two >&2; while :; do sleep 0.1; done");
        runner.until("one\n", LONG);
        runner.until("two\n", LONG);
        assert_eq!(runner.stop(), 3);
        assert_eq!(sh("exit 4").wait(LONG), 4);
    }

    #[test]
    #[should_panic(expected = "it did not say \"three\"")]
    fn it_may_end_too_early() {
        sh("echo one").until("three", LONG);
    }

    #[test]
    #[should_panic(expected = "it did not say \"three\"")]
    fn it_may_be_too_slow() {
        sh("exec sleep 20").until("three", Duration::from_millis(10));
    }

    #[test]
    #[should_panic(expected = "the command was not stopped by the test")]
    fn it_must_be_stopped() {
        drop(sh("exec sleep 20"));
    }
}
