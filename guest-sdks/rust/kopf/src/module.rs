//! The module as the host sees it: messages come and go as bytes.

use crate::error::Error;
use crate::handler::Handler;
use crate::operator::Operator;
use crate::task::{Done, Task, Transforms};
use crate::view::View;
use kopf_abi as abi;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The future of a handler.
pub type Running = Pin<Box<dyn Future<Output = Done>>>;

/// The handlers of an operator and its tasks.
pub struct Module {
    operator: Operator,
    host: Rc<dyn abi::Host>,
    tasks: BTreeMap<u32, Entry>,
}

/// A task between two calls of the host.
struct Entry {
    task: Rc<Task>,
    /// Gone after the last step.
    running: Option<Running>,
    children: Vec<Handler>,
    transforms: Transforms,
}

impl Module {
    pub fn new(operator: Operator, host: Rc<dyn abi::Host>) -> Module {
        Module { operator, host, tasks: BTreeMap::new() }
    }

    /// Answers `kopf_register`.
    pub fn register(&mut self, request: &[u8]) -> Vec<u8> {
        let answer = match abi::read::<abi::RegisterRequest>(request) {
            Ok(request) if request.abi == abi::VERSION => self.operator.register(request.config),
            Ok(request) => refused(format!("the host speaks the ABI {}, this guest {}", request.abi, abi::VERSION)),
            Err(err) => refused(format!("the request of kopf_register: {err}")),
        };
        abi::write(answer)
    }

    /// Answers `kopf_start`: it begins a task.
    pub fn start(&mut self, id: u32, frame: Vec<u8>) -> Vec<u8> {
        let (call, body) = match unframe::<abi::Invocation>(frame) {
            Ok(parts) => parts,
            Err(err) => return failed(err),
        };
        let Some(handler) = self.find(call.handler, call.parent) else {
            return failed(Error::permanent(format_args!("no such handler: {}", call.id)));
        };
        let run = handler.run.clone();
        let above = self.tasks.get(&call.parent).map(|entry| entry.task.clone());
        let task = Task::new(id, call, body, self.host.clone(), above);
        let running = Some(run(task.clone()));
        let entry = Entry { task, running, children: Vec::new(), transforms: Transforms::default() };
        self.tasks.insert(id, entry);
        self.advance(id)
    }

    /// Answers `kopf_resume`: it continues a waiting task.
    pub fn resume(&mut self, id: u32, answer: Vec<u8>) -> Vec<u8> {
        match (self.tasks.get(&id), abi::read(&answer)) {
            (Some(entry), Ok(answer)) => entry.task.answered(answer),
            (_, Err(err)) => return failed(Error::permanent(format_args!("the answer of kopf_resume: {err}"))),
            (None, _) => return failed(Error::permanent("no such task to resume")),
        }
        self.advance(id)
    }

    /// Polls a task, and answers its next step.
    fn advance(&mut self, id: u32) -> Vec<u8> {
        let Some(entry) = self.tasks.get_mut(&id) else {
            return failed(Error::permanent("no such task"));
        };
        let Some(running) = entry.running.as_mut() else {
            return failed(Error::permanent("the task is done already"));
        };
        let done = match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done,
            Poll::Pending => match entry.task.wished() {
                Ok(wish) => {
                    entry.children = wish.children;
                    return abi::write(wish.step);
                }
                Err(err) => {
                    entry.running = None;
                    entry.task.done(Err(err))
                }
            },
        };
        entry.running = None;
        entry.children = done.children;
        entry.transforms = done.transforms;
        let mut step = abi::write(done.step);
        if let Some(rewrite) = entry.task.left.rewrite.get() {
            step = rewrite(&entry.task, step);
        }
        if entry.children.is_empty() && entry.transforms.list.is_empty() {
            self.tasks.remove(&id);
        }
        step
    }

    /// Answers `kopf_cancel`. Unknown tasks are ended ones.
    pub fn cancel(&mut self, id: u32) {
        if let Some(entry) = self.tasks.get(&id) {
            entry.task.cancel();
        }
    }

    /// Answers `kopf_release`.
    pub fn release(&mut self, id: u32) {
        self.tasks.remove(&id);
    }

    /// Answers `kopf_transform`: it runs the functions that a task left.
    pub fn transform(&mut self, id: u32, body: Vec<u8>) -> Vec<u8> {
        let left = self.tasks.get(&id).map(|entry| &entry.transforms);
        let transformed = match left.and_then(|left| Some((left.apply?, &left.list))) {
            Some((apply, list)) => apply(list, &body),
            None => Err(Error::permanent("no such task to transform")),
        };
        match transformed {
            Ok(body) => [&b"{\"body\":"[..], &body, b"}"].concat(),
            Err(err) => abi::write(abi::TransformResult { body: None, error: Some(err.wire()) }),
        }
    }

    /// Answers `kopf_ask`: it evaluates options that are functions.
    pub fn ask(&mut self, id: u32, frame: Vec<u8>) -> Vec<u8> {
        let (asked, body) = match unframe::<abi::Questions>(frame) {
            Ok(parts) => parts,
            Err(err) => {
                let verdict = abi::Verdict { value: None, error: Some(err.wire()) };
                return abi::write(abi::Answers { answers: vec![verdict] });
            }
        };
        let task = Task::new(id, asked.call, body, self.host.clone(), None);
        let judge = |question: &abi::Question| match self.find(question.handler, question.parent) {
            Some(handler) => handler.judge(&task, &question.callbacks),
            None => Err(Error::permanent("no such handler")),
        };
        let answers = asked.questions.iter().map(|question| match judge(question) {
            Ok(value) => abi::Verdict { value: Some(value), error: None },
            Err(err) => abi::Verdict { value: None, error: Some(err.wire()) },
        });
        abi::write(abi::Answers { answers: answers.collect() })
    }

    /// A handler of the registration, or a child of a task.
    fn find(&self, index: usize, parent: u32) -> Option<&Handler> {
        match parent {
            0 => self.operator.handlers.get(index),
            parent => self.tasks.get(&parent)?.children.get(index),
        }
    }
}

/// Decodes the header of a frame, and finds the body.
fn unframe<H: abi::Field>(frame: Vec<u8>) -> Result<(H, Option<View>), Error> {
    let header =
        abi::find_segment(&frame, abi::tag::HEADER).ok_or_else(|| Error::permanent("a frame without a header"))?;
    let header = abi::read(header)?;
    let body = abi::place_of_segment(&frame, abi::tag::BODY);
    Ok((header, body.map(|place| View::within(frame, place))))
}

fn refused(error: String) -> abi::Registration {
    abi::Registration { error, ..abi::Registration::default() }
}

/// The last step of a task that could not run.
fn failed(err: Error) -> Vec<u8> {
    abi::write(abi::Step { step: "done".into(), error: Some(err.wire()), ..abi::Step::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Change, PRESENT};
    use serde_json::{Value, json};
    use std::time::Duration;

    fn is_large(c: &Cause) -> bool {
        c.spec["size"].as_u64() > Some(10)
    }

    fn module() -> Module {
        let mut operator = Operator::new();
        let wait = async |c: Change| match c.sleep(Duration::from_secs(9)).await {
            Ok(()) => Ok("slept"),
            Err(cancelled) => Err(cancelled),
        };
        let handler = Handler::create(("kopf.dev", "v1", "*"), wait)
            .id("wait")
            .label("app", |c: &Cause| c.value.as_ref().is_some_and(|value| value == "web"));
        operator.name("demo").add(handler.when(is_large).annotation("x", PRESENT).retries(3).backoff(1.5));
        Module::new(operator, Rc::new(abi::Noone))
    }

    fn json(text: Vec<u8>) -> Value {
        serde_json::from_slice(&text).unwrap()
    }

    fn frame(header: Value, body: Value) -> Vec<u8> {
        let mut frame = Vec::new();
        abi::push_segment(&mut frame, abi::tag::HEADER, header.to_string().as_bytes());
        abi::push_segment(&mut frame, abi::tag::BODY, body.to_string().as_bytes());
        frame
    }

    #[test]
    fn handlers_are_registered() {
        let answer = json(module().register(br#"{"abi":1,"config":{}}"#));
        let marker = json!({"$": "FUNCTION"});
        let want = json!([{
            "kind": "create", "id": "wait", "resource": {"args": ["kopf.dev", "v1", {"$": "EVERYTHING"}]},
            "labels": {"app": marker}, "annotations": {"x": {"$": "PRESENT"}}, "when": marker,
            "retries": 3, "backoff": 1.5,
        }]);
        assert_eq!(answer["handlers"], want);
        assert_eq!(answer["operator"]["name"], "demo");
        let newer = json(module().register(br#"{"abi":2}"#));
        assert_eq!(newer["error"], "the host speaks the ABI 2, this guest 1");
        assert!(json(module().register(b"{"))["error"].as_str().unwrap().contains("kopf_register"));
    }

    #[test]
    fn null_is_a_filter() {
        let mut operator = Operator::new();
        operator.add(Handler::update("x", async |_: Change| ()).id("x").field("spec.size").old(Value::Null));
        let answer = json(Module::new(operator, Rc::new(abi::Noone)).register(br#"{"abi":1}"#));
        assert_eq!(answer["handlers"][0]["old"], json!({"$": "VALUE", "value": null}));
    }

    #[test]
    fn handlers_without_ids_refuse_the_operator() {
        let mut operator = Operator::new();
        operator.add(Handler::startup(async |_: crate::Activity| ()));
        let answer = json(Module::new(operator, Rc::new(abi::Noone)).register(br#"{"abi":1}"#));
        assert_eq!(answer["error"], "handler 1: startup: it needs an id: it has no function with a name");
    }

    #[test]
    fn tasks_wait_and_go_on() {
        let mut module = module();
        let frame = frame(json!({"handler": 0, "id": "wait"}), json!({"spec": {}}));
        assert_eq!(json(module.start(7, frame.clone())), json!({"step": "wait", "seconds": 9.0}));
        assert_eq!(json(module.resume(7, b"{}".into())), json!({"step": "done", "result": "slept"}));
        assert_eq!(json(module.resume(7, b"{}".into()))["error"]["message"], "no such task to resume");
        module.start(8, frame);
        module.cancel(8);
        assert_eq!(json(module.resume(8, br#"{"cancelled":true}"#.into()))["error"]["type"], "Cancelled");
        assert!(module.tasks.is_empty());
    }

    #[test]
    fn edits_leave_other_numbers_alone() {
        let mut operator = Operator::new();
        let edit = async |c: Change| {
            c.patch.edit(|body| {
                body["spec"]["size"] = json!(0.25);
                Ok(())
            });
        };
        operator.add(Handler::create("x", edit).id("x"));
        let mut module = Module::new(operator, Rc::new(abi::Noone));
        module.start(1, frame(json!({"handler": 0, "id": "x"}), json!({})));
        let body = r#"{"spec":{"ratio":0.9073038322028689,"size":1,"total":123456789012345678901234567890}}"#;
        let want = format!(r#"{{"body":{}}}"#, body.replace(":1,", ":0.25,"));
        assert_eq!(String::from_utf8(module.transform(1, body.into())).unwrap(), want);
        assert!(
            json(module.transform(1, b"nonsense".into()))["error"]["message"].as_str().unwrap().contains("expected")
        );
    }

    #[test]
    fn conversions_leave_other_numbers_alone() {
        let mut operator = Operator::new();
        let convert = async |mut c: crate::Conversion| {
            c.object["spec"]["to"] = json!(true);
            c.object
        };
        operator.add(Handler::convert("x", convert).from("v1").to("v2").id("x"));
        let mut module = Module::new(operator, Rc::new(abi::Noone));
        let mut asked = Vec::new();
        abi::push_segment(&mut asked, abi::tag::HEADER, br#"{"handler":0,"id":"x","kind":"convert"}"#);
        abi::push_segment(&mut asked, abi::tag::BODY, br#"{"spec":{"ratio":0.9073038322028689}}"#);
        let want = r#"{"step":"done","result":{"spec":{"ratio":0.9073038322028689,"to":true}}}"#;
        assert_eq!(String::from_utf8(module.start(1, asked)).unwrap(), want);
    }

    #[test]
    fn each_task_has_its_resource() {
        let mut operator = Operator::new();
        operator.add(Handler::create("x", async |c: Change| Ok::<_, Error>(c.resource.plural)).id("x"));
        let mut module = Module::new(operator, Rc::new(abi::Noone));
        for plural in ["first", "first", "second", "first", ""] {
            let mut header = json!({"handler": 0, "id": "x", "resource": {"plural": plural}, "name": "x"});
            if plural.is_empty() {
                header.as_object_mut().unwrap().remove("resource");
            }
            assert_eq!(json(module.start(1, frame(header, json!({}))))["result"], plural);
        }
        let mut broken = Vec::new();
        abi::push_segment(&mut broken, abi::tag::HEADER, br#"{"handler":0,"id":"x","resource":{"plural":x}}"#);
        assert!(!json(module.start(1, broken))["error"].is_null());
    }

    #[test]
    fn questions_are_answered() {
        let mut module = module();
        let mut ask = |callbacks: Value, size: u32| {
            let questions = json!({"questions": [{"handler": 0, "callbacks": callbacks}]});
            json(module.ask(1, frame(questions, json!({"spec": {"size": size}}))))["answers"][0].clone()
        };
        let labels = |values: Value| json!([{"option": "labels", "key": "app", "values": values}, {"option": "when"}]);
        assert_eq!(ask(labels(json!([{"value": "db"}, {"value": "web"}])), 11), json!({"value": true}));
        assert_eq!(ask(labels(json!([{"value": "web"}])), 10), json!({"value": false}));
        assert_eq!(ask(labels(json!([{"absent": true}])), 11), json!({"value": false}));
        assert_eq!(ask(json!([{"option": "old"}]), 1)["error"]["message"], "no such callback: old");
    }

    #[test]
    fn broken_messages_are_answered() {
        let mut module = module();
        let said = |answer: Vec<u8>| json(answer)["error"]["message"].as_str().unwrap().to_owned();
        assert_eq!(said(module.start(1, Vec::new())), "a frame without a header");
        assert_eq!(said(module.start(1, frame(json!({"handler": 5, "id": "x"}), json!({})))), "no such handler: x");
        assert!(said(module.resume(1, b"nonsense".into())).contains("kopf_resume"));
        assert_eq!(said(module.transform(1, b"{}".into())), "no such task to transform");
        assert_eq!(json(module.ask(1, Vec::new()))["answers"][0]["error"]["message"], "a frame without a header");
    }
}
