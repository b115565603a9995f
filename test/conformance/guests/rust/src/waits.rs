//! Operations that let time pass.

use crate::call::{Argument, Call};
use crate::cases::Spec;
use crate::register;
use crate::script::ValueError;
use crate::times::seconds;
use crate::values::{list, text};
use kopf::{Error, Value, json};
use std::rc::Rc;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(200);

/// How long a function in a thread takes to come back to the event loop after the stop
/// signal: another cycle of the loop handles the object meanwhile.
const THREAD_HOP: Duration = Duration::from_millis(100);

impl Call {
    pub async fn wait(&mut self, name: &str, arg: &Value) -> kopf::Result {
        match name {
            "sleep" => Ok(self.base.sleep(seconds(arg)).await?),
            "loop" => self.looped(arg).await,
            "stubborn" => self.stubborn(arg).await,
            "immortal" => self.immortal(arg).await,
            _ => self.subhandlers(arg).await,
        }
    }

    /// A daemon that behaves well.
    async fn looped(&mut self, arg: &Value) -> kopf::Result {
        let interval = if arg["interval"].is_null() { TICK } else { seconds(&arg["interval"]) };
        let blocking = self.spec.given["sync"] == true;
        let mut n = 0.0;
        while !self.daemon()?.stopped() {
            n += 1.0;
            if !arg["mark"].is_null() {
                let spec = json!(self.daemon()?.spec);
                self.mark(arg["mark"].clone(), json!({"spec": spec}));
            }
            if arg["times"].as_f64().is_some_and(|times| n >= times) {
                break;
            }
            if self.daemon()?.wait(interval).await? && blocking {
                self.daemon()?.sleep(THREAD_HOP).await?;
            }
        }
        let daemon = self.daemon()?;
        if daemon.stopped() {
            let mut reasons: Vec<_> = daemon.stop_reasons().iter().map(|reason| reason.to_uppercase()).collect();
            reasons.sort();
            self.mark(json!("stopped"), json!({"stop_reason": reasons}));
        } else {
            self.mark(json!("finished"), json!({"stop_reason": null}));
        }
        Ok(())
    }

    fn daemon(&mut self) -> Result<&mut kopf::Daemon, Error> {
        match &mut self.argument {
            Argument::Daemon(daemon) => Ok(daemon),
            _ => Err(Error::permanent("the operation is for daemons")),
        }
    }

    /// A daemon that ignores the stopping, and reports the cancellation.
    async fn stubborn(&mut self, arg: &Value) -> kopf::Result {
        if let Err(cancelled) = self.base.sleep(seconds(arg)).await {
            self.mark(json!("cancelled"), json!({}));
            return Err(cancelled.into());
        }
        self.mark(json!("overslept"), json!({}));
        Ok(())
    }

    /// A daemon that ignores even the cancellation.
    async fn immortal(&mut self, arg: &Value) -> kopf::Result {
        let (mut left, mut cancelled) = (seconds(arg), false);
        while !left.is_zero() {
            if self.base.sleep(TICK.min(left)).await.is_err() && !cancelled {
                cancelled = true;
                self.mark(json!("cancellation ignored"), json!({}));
            }
            left = left.saturating_sub(TICK);
        }
        self.mark(json!("overslept"), json!({}));
        Ok(())
    }

    /// Declares or executes sub-handlers.
    async fn subhandlers(&mut self, arg: &Value) -> kopf::Result {
        let Argument::Change(change) = &self.argument else {
            return Err(ValueError("sub-handlers are for handlers of changes".to_owned()).into());
        };
        let via = text(arg, "via");
        let mut now = Vec::new();
        for given in list(&arg["list"]) {
            let spec = Rc::new(Spec::new(&self.spec.interpreter, given));
            match via {
                "execute-list" => now.push(register::sub(&spec, &spec.name)),
                "execute-dict" => now.push(register::sub(&spec, given["id"].as_str().unwrap_or(&spec.name))),
                _ => change.declare(register::options(&spec, register::sub(&spec, &spec.name), given)?),
            }
        }
        change.execute(now).await?;
        if via == "execute-registered" {
            change.execute_declared().await?;
            self.mark(json!("after execute"), json!({}));
        }
        Ok(())
    }
}
