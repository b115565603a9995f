//! Scripts.

use crate::call::{Argument, Call};
use crate::times::seconds;
use crate::values::{equal, list, text};
use kopf::{Delay, Error, Value, json};
use std::fmt;
use std::pin::Pin;

/// The error of scripts that neither is temporary nor permanent.
#[derive(Debug)]
pub struct ValueError(pub String);

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}

impl Call {
    /// Does the operations of a script, until one returns or fails.
    pub fn run<'a>(&'a mut self, script: &'a [Value]) -> Pin<Box<dyn Future<Output = kopf::Result> + 'a>> {
        Box::pin(async move {
            for op in script {
                if let Some(condition) = op.get("if") {
                    let branch = if self.holds(condition) { "do" } else { "else" };
                    self.run(list(&op[branch])).await?;
                } else {
                    for (name, arg) in op.as_object().into_iter().flatten() {
                        self.perform(name, arg).await?;
                    }
                }
                if self.returned.is_some() {
                    break;
                }
            }
            Ok(())
        })
    }

    async fn perform(&mut self, name: &str, arg: &Value) -> kopf::Result {
        match name {
            "return" => self.returned = Some(arg.clone()),
            "login" => {
                if let Argument::Activity(a) = &self.argument {
                    self.returned = Some(json!(kopf::login_with_kubeconfig(a)));
                }
            }
            "temporary" => return Err(temporary(arg)),
            "permanent" => return Err(Error::permanent(text(arg, "msg"))),
            "arbitrary" => return Err(ValueError(text(arg, "msg").to_owned()).into()),
            "arbitrary_empty" => return Err(ValueError(String::new()).into()),
            "admission_error" => {
                let code = arg["code"].as_u64().unwrap_or(500) as u16;
                return Err(Error::admission(text(arg, "msg")).code(code));
            }
            "sleep" | "loop" | "stubborn" | "immortal" | "subhandlers" => self.wait(name, arg).await?,
            "settings" => {
                if let Argument::Activity(a) = &self.argument {
                    crate::settings::configure(a, arg)?;
                }
            }
            _ => self.effect(name, arg)?,
        }
        Ok(())
    }

    /// Checks conditions; all must hold.
    fn holds(&self, condition: &Value) -> bool {
        condition.as_object().into_iter().flatten().all(|(name, want)| self.check(name, want))
    }

    fn check(&self, name: &str, want: &Value) -> bool {
        let less = |n: u64| want.as_f64().is_some_and(|limit| (n as f64) < limit);
        match (name, &self.argument) {
            ("retry_lt", _) => less(self.base.retry.into()),
            ("calls_lt", _) => less(self.calls),
            ("name_is", _) => self.object().is_some_and(|o| *want == *o.name),
            ("reason_is", Argument::Change(c)) => *want == *c.reason,
            ("type_is", Argument::Event(e)) => json!(e.event_type) == *want,
            ("activity_is", Argument::Activity(a)) => *want == *a.activity,
            ("operation_is", Argument::Review(r)) => *want == *r.operation,
            ("spec_is", _) => {
                let key = want[0].as_str().unwrap_or_default();
                self.object().is_some_and(|o| equal(&o.spec[key], &want[1]))
            }
            ("spec_has", _) => self.object().is_some_and(|o| o.spec.get(want.as_str().unwrap_or_default()).is_some()),
            _ => false,
        }
    }
}

fn temporary(arg: &Value) -> Error {
    let delay = match arg.get("delay") {
        None => Delay::Default,
        Some(Value::Null) => Delay::None,
        Some(delay) => Delay::After(seconds(delay)),
    };
    Error::temporary(text(arg, "msg")).delay(delay)
}
