//! Operators that run natively, for breakpoints and profilers.

use crate::module::Module;
use crate::operator::{Operator, set_host};
use kopf_abi::native::{Connection, Message, kind};
use std::any::Any;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::rc::Rc;

/// Serves a host at the other end of a stream, until that closes it.
pub fn serve(declare: fn(&mut Operator), stream: impl Read + Write + 'static) -> io::Result<()> {
    let host = Rc::new(Connection::new(stream));
    set_host(host.clone());
    let mut operator = Operator::new();
    declare(&mut operator);
    let mut module = Module::new(operator, host.clone());
    while let Some(message) = host.call()? {
        let task = message.task;
        match catch_unwind(AssertUnwindSafe(|| handle(&mut module, message))) {
            Ok(answer) => host.send(kind::ANSWER, task, &[&answer])?,
            Err(panic) => {
                module.release(task);
                host.send(kind::PANICKED, task, &[said(&*panic).as_bytes()])?;
            }
        }
    }
    Ok(())
}

/// Makes the call that a message stands for.
fn handle(module: &mut Module, call: Message) -> Vec<u8> {
    match call.kind {
        kind::REGISTER => return module.register(&call.data),
        kind::START => return module.start(call.task, call.data),
        kind::RESUME => return module.resume(call.task, call.data),
        kind::ASK => return module.ask(call.task, call.data),
        kind::TRANSFORM => return module.transform(call.task, call.data),
        kind::CANCEL => module.cancel(call.task),
        kind::RELEASE => module.release(call.task),
        _ => {}
    }
    Vec::new()
}

/// What a panic says. Its place is on the standard error.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("a panic without a message"))
}

/// Starts kopf with the arguments of this program, and serves it until it ends.
pub fn main(declare: fn(&mut Operator)) -> ExitCode {
    match run(declare) {
        Ok(code) => code,
        Err(err) => {
            eprintln!("kopf: {err}");
            ExitCode::from(2)
        }
    }
}

#[cfg(unix)]
fn run(declare: fn(&mut Operator)) -> io::Result<ExitCode> {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    let (ours, theirs) = UnixStream::pair()?;
    let program = std::env::var_os("KOPF").unwrap_or_else(|| "kopf".into());
    let mut command = Command::new(&program);
    command.args(["run", "-"]).args(std::env::args_os().skip(1)).stdin(Stdio::from(OwnedFd::from(theirs)));
    let mut child = command.spawn().map_err(|err| {
        let program = program.to_string_lossy();
        io::Error::new(err.kind(), format!("{program}: {err} (set KOPF to the path of the program)"))
    })?;
    drop(command); // and with it the other end: kopf has its own
    kopf_abi::native::leave_signals(child.id());
    let served = serve(declare, ours);
    let status = child.wait()?;
    served?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(not(unix))]
fn run(_: fn(&mut Operator)) -> io::Result<ExitCode> {
    Err(io::Error::other("operators run natively on Unix only"))
}
