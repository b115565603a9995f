//! Scripts.

use crate::call::Call;
use crate::functions;
use crate::values::{equal, list, text};
use serde_json::{Value, json};
use std::rc::Rc;

/// An operation is done, or the handler ends with an error.
pub type Outcome = Result<(), Value>;

/// A permanent error.
pub fn permanent(message: &str) -> Value {
    json!({"kind": "permanent", "message": message})
}

impl Call<'_> {
    /// Does the operations of a script, until one returns or fails.
    pub fn run(&mut self, script: &[Value]) -> Outcome {
        for op in script {
            if let Some(condition) = op.get("if") {
                let branch = if self.holds(condition) { "do" } else { "else" };
                self.run(list(&op[branch]))?;
            } else {
                for (name, arg) in op.as_object().into_iter().flatten() {
                    self.perform(name, arg)?;
                }
            }
            if self.returned.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn perform(&mut self, name: &str, arg: &Value) -> Outcome {
        let arbitrary = |message: &str| Err(json!({"kind": "arbitrary", "message": message, "type": "ValueError"}));
        match name {
            "return" => self.returned = Some(arg.clone()),
            "login" => self.returned = Some(json!({"login": "kubeconfig"})),
            "temporary" => {
                let mut error = json!({"kind": "temporary", "message": text(arg, "msg")});
                if let Some(delay) = arg.get("delay") {
                    error["delay"] = delay.clone();
                }
                return Err(error);
            }
            "permanent" => return Err(permanent(text(arg, "msg"))),
            "arbitrary" => return arbitrary(text(arg, "msg")),
            "arbitrary_empty" => return arbitrary(""),
            "sleep" => drop(functions::wait(arg.as_f64().unwrap_or_default())),
            "loop" => self.looped(arg),
            "subhandlers" => self.declare(arg)?,
            "settings" => self.configure(arg),
            _ => self.effect(name, arg)?,
        }
        Ok(())
    }

    /// Declares sub-handlers: plugins cannot execute them in the middle.
    fn declare(&mut self, arg: &Value) -> Outcome {
        if text(arg, "via").starts_with("execute") {
            return Err(permanent("plugins do not execute sub-handlers"));
        }
        self.left.children.extend(list(&arg["list"]).iter().map(|child| Rc::new(child.clone())));
        Ok(())
    }

    /// A daemon that behaves well.
    fn looped(&mut self, arg: &Value) {
        let (interval, mut n, mut stopped) = (arg["interval"].as_f64().unwrap_or(0.2), 0.0, 0);
        while stopped == 0 {
            n += 1.0;
            if !arg["mark"].is_null() {
                self.mark(arg["mark"].clone(), json!({"spec": self.spec()}));
            }
            if arg["times"].as_f64().is_some_and(|times| n >= times) {
                break;
            }
            stopped = functions::wait(interval);
        }
        match reasons(stopped) {
            reasons if reasons.is_empty() => self.mark(json!("finished"), json!({"stop_reason": null})),
            reasons => self.mark(json!("stopped"), json!({"stop_reason": reasons})),
        }
    }

    /// Checks conditions; all must hold.
    fn holds(&self, condition: &Value) -> bool {
        condition.as_object().into_iter().flatten().all(|(name, want)| self.check(name, want))
    }

    fn check(&self, name: &str, want: &Value) -> bool {
        let less = |n: u64| want.as_f64().is_some_and(|limit| (n as f64) < limit);
        match name {
            "retry_lt" => less(self.message["retry"].as_u64().unwrap_or(0)),
            "calls_lt" => less(self.calls),
            "name_is" => self.message["name"] == *want,
            "reason_is" => self.message["reason"] == *want,
            "type_is" => self.message["type"] == *want,
            "activity_is" => self.message["activity"] == *want,
            "spec_is" => equal(&self.spec()[want[0].as_str().unwrap_or_default()], &want[1]),
            "spec_has" => self.spec().get(want.as_str().unwrap_or_default()).is_some(),
            _ => false,
        }
    }
}

/// The names of stop reasons, sorted.
fn reasons(bits: u64) -> Vec<&'static str> {
    const NAMES: [&str; 8] = [
        "DONE",
        "FILTERS_MISMATCH",
        "RESOURCE_DELETED",
        "OPERATOR_PAUSING",
        "OPERATOR_EXITING",
        "DAEMON_SIGNALLED",
        "DAEMON_CANCELLED",
        "DAEMON_ABANDONED",
    ];
    let mut names: Vec<_> =
        NAMES.into_iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, name)| name).collect();
    names.sort();
    names
}
