//! Plays the host: it continues with a handler until the handler is done.

use super::Outcome;
use super::host::TestHost;
use crate::handler::Handler;
use crate::module::Module;
use crate::operator::Operator;
use kopf_abi as abi;
use kopf_abi::{Answer, Host, Step, tag};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

pub struct Driver<F> {
    module: Module,
    host: Rc<TestHost>,
    call: F,
    body: Option<String>,
    tasks: u32,
}

impl<F: Fn() -> abi::Invocation> Driver<F> {
    pub fn new(handler: Handler, host: Rc<TestHost>, call: F, body: Option<String>) -> Self {
        let mut operator = Operator::new();
        operator.add(handler.id("test"));
        Driver { module: Module::new(operator, host.clone()), host, call, body, tasks: 0 }
    }

    pub fn run(mut self) -> Outcome {
        let call = (self.call)();
        self.task(call)
    }

    /// Runs one task and its children.
    fn task(&mut self, call: abi::Invocation) -> Outcome {
        self.tasks += 1;
        let task = self.tasks;
        let id = call.id.clone();
        let mut frame = Vec::new();
        abi::push_segment(&mut frame, tag::HEADER, &abi::write(call));
        if let Some(body) = &self.body {
            abi::push_segment(&mut frame, tag::BODY, body.as_bytes());
        }
        let mut children = BTreeMap::new();
        let mut answer = self.module.start(task, frame);
        let step = loop {
            let mut step: Step = abi::read(&answer).expect("steps are JSON");
            let reply = match step.step.as_str() {
                "wait" => self.wait(task, &step),
                "execute" => Answer { pending: self.children(task, &id, &step, &mut children), ..Answer::default() },
                "call" => self.host.request(step.call.take().unwrap_or_default()),
                _ => break step,
            };
            answer = self.module.resume(task, abi::write(reply));
        };
        let pending = self.children(task, &id, &step, &mut children);
        let outcome = self.outcome(task, step, children, pending);
        self.module.release(task);
        outcome
    }

    fn wait(&self, task: u32, step: &Step) -> Answer {
        let time = Duration::try_from_secs_f64(step.seconds.unwrap_or_default()).unwrap_or_default();
        self.host.state.borrow_mut().waits.push(time);
        let stopped = abi::stop_names(self.host.stopped(task)).into_iter().map(str::to_owned).collect();
        Answer { stopped, ..Answer::default() }
    }

    /// Runs sub-handlers, and returns whether some would be called again.
    fn children(&mut self, parent: u32, id: &str, step: &Step, done: &mut BTreeMap<String, Outcome>) -> bool {
        let mut pending = false;
        for (handler, child) in step.children.iter().enumerate() {
            let id = format!("{id}/{}", child["id"].as_str().unwrap_or_default());
            let param = child.get("param").cloned();
            let outcome = self.task(abi::Invocation { handler, parent, id: id.clone(), param, ..(self.call)() });
            pending |= outcome.error.as_ref().is_some_and(|err| err.kind != abi::ErrorKind::Permanent);
            done.insert(id, outcome);
        }
        pending
    }

    fn outcome(&mut self, task: u32, step: Step, children: BTreeMap<String, Outcome>, pending: bool) -> Outcome {
        let edited = (step.transforms > 0).then(|| {
            let body = self.body.clone().unwrap_or_default();
            let result: abi::TransformResult =
                abi::read(&self.module.transform(task, body.into_bytes())).expect("answers are JSON");
            result.body.unwrap_or_default()
        });
        let unfinished = || abi::Error {
            kind: abi::ErrorKind::Children,
            message: crate::HandlerError::ChildrenPending.to_string(),
            ..abi::Error::default()
        };
        Outcome {
            result: step.result.unwrap_or_default(),
            error: step.error.or_else(|| pending.then(unfinished)),
            patch: step.patch.map(Into::into).unwrap_or_default(),
            edited,
            children,
            warnings: step.warnings,
            settings: step.settings,
            ..Outcome::default()
        }
    }
}
