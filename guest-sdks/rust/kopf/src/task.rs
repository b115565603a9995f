//! A task: one attempt of a handler. It is a future, which is polled when the host
//! starts or resumes it, and says what it waits for.

use crate::error::{Error, HandlerError};
use crate::handler::Handler;
use crate::patch::{self, Patch};
use crate::view::View;
use kopf_abi::{Admission, Answer, Call, Errno, Host, Invocation, Step};
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A function that edits a body, see [`Patch::edit`].
pub type Transform = Rc<dyn Fn(&mut Value) -> crate::Result<()>>;

/// Applies functions to the text of a body.
pub type Apply = fn(&[Transform], &[u8]) -> crate::Result<Vec<u8>>;

/// Functions that edit a body, and what applies them: that is in modules with such functions only.
#[derive(Default)]
pub struct Transforms {
    pub list: Vec<Transform>,
    pub apply: Option<Apply>,
}

/// One attempt of a handler, or the evaluation of its filters.
pub struct Task {
    pub id: u32,
    pub call: Invocation,
    /// The arguments of a review, until they are taken.
    pub admission: RefCell<Option<Admission>>,
    /// The object; `None` in activities, and in daemons that have waited: they fetch the newest one.
    pub body: RefCell<Option<View>>,
    pub host: Rc<dyn Host>,
    /// What the handler leaves.
    pub left: Left,
    /// The task that has declared this one.
    above: Option<Rc<Task>>,
    ended: Cell<bool>,
    cancelled: Cell<bool>,
    wish: RefCell<Option<Wish>>,
    clash: Cell<bool>,
    answer: RefCell<Option<Answer>>,
}

/// A function that changes the text of a step.
pub type Rewrite = fn(&Task, Vec<u8>) -> Vec<u8>;

/// What a handler leaves in addition to its result.
#[derive(Default)]
pub struct Left {
    pub patch: Patch,
    /// Sub-handlers that are declared, and not executed yet.
    pub children: RefCell<Vec<Handler>>,
    /// The order of sub-handlers.
    pub lifecycle: Cell<&'static str>,
    /// An execution of sub-handlers is unfinished.
    pub pending: Cell<bool>,
    pub warnings: RefCell<Vec<String>>,
    pub settings: RefCell<BTreeMap<String, Value>>,
    /// Changes the text of the last step: in modules with conversions only.
    pub rewrite: Cell<Option<Rewrite>>,
}

/// What a task waits for.
pub struct Wish {
    pub step: Step,
    pub children: Vec<Handler>,
}

/// The outcome of a task.
pub struct Done {
    pub step: Step,
    pub children: Vec<Handler>,
    pub transforms: Transforms,
}

/// The result of a handler: a value, and whether it is pairs for an index.
pub type Returned = Result<(Option<Value>, bool), Error>;

impl Task {
    pub fn new(
        id: u32,
        mut call: Invocation,
        body: Option<View>,
        host: Rc<dyn Host>,
        above: Option<Rc<Task>>,
    ) -> Rc<Task> {
        Rc::new(Task {
            id,
            admission: RefCell::new(call.admission.take()),
            call,
            body: RefCell::new(body),
            host,
            left: Left::default(),
            above,
            ended: Cell::new(false),
            cancelled: Cell::new(false),
            wish: RefCell::default(),
            clash: Cell::new(false),
            answer: RefCell::default(),
        })
    }

    pub fn cancel(&self) {
        self.cancelled.set(true);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.get()
    }

    pub fn is_stopped(&self) -> bool {
        self.is_cancelled() || self.host.stopped(self.id) != 0
    }

    /// Lets time pass.
    pub async fn wait(&self, time: Duration, stoppable: bool) -> Answer {
        let seconds = Some(time.as_secs_f64());
        self.ask(Step { step: "wait".into(), seconds, stoppable, ..Step::default() }, Vec::new()).await
    }

    /// Runs sub-handlers now, whose patches follow the one of the task so far, and returns whether some are unfinished.
    pub async fn execute(&self, children: Vec<Handler>) -> bool {
        let step = Step {
            step: "execute".into(),
            patch: self.left.patch.so_far(),
            children: children.iter().map(|child| child.declaration.clone()).collect(),
            lifecycle: self.left.lifecycle.get().to_owned(),
            ..Step::default()
        };
        let pending = self.ask(step, children).await.pending;
        if pending {
            self.left.pending.set(true);
        }
        pending
    }

    /// Has the host make a request.
    pub async fn request(&self, call: Call) -> Answer {
        self.ask(Step { step: "call".into(), call: Some(call), ..Step::default() }, Vec::new()).await
    }

    /// Hands a wish to the host, and waits for its answer.
    fn ask(&self, step: Step, children: Vec<Handler>) -> Asking<'_> {
        Asking { task: self, wish: Some(Wish { step, children }) }
    }

    /// What the host is to do next, after the future of the task was polled.
    pub fn wished(&self) -> Result<Wish, Error> {
        self.answer.take();
        match self.wish.take() {
            Some(wish) if !self.clash.get() => Ok(wish),
            Some(_) => {
                Err(Error::permanent("the handler waits for several things at once; it can await one at a time"))
            }
            None => {
                Err(Error::permanent("the handler awaits something that is not of this SDK: nothing would wake it"))
            }
        }
    }

    /// Keeps the answer to the last wish until the future takes it.
    pub fn answered(&self, answer: Answer) {
        if answer.cancelled {
            self.cancel();
        }
        self.answer.replace(Some(answer));
    }

    /// The outcome of what the handler returned and left.
    pub fn done(&self, returned: Returned) -> Done {
        let (mut patch, mut transforms, problem) = self.left.patch.take();
        let problem = problem.or(self.take_late(&mut patch, &mut transforms));
        self.ended.set(true);
        let mut returned = returned;
        if let (Ok(_), Some(problem)) = (&returned, problem) {
            returned = Err(problem);
        }
        if returned.is_ok() && self.left.pending.get() {
            returned = Err(HandlerError::ChildrenPending.into()); // to be repeated, even if the handler overlooked it
        }
        let mut step = Step {
            step: "done".into(),
            patch: (!patch.is_empty()).then_some(patch),
            transforms: transforms.list.len(),
            warnings: self.left.warnings.take(),
            settings: self.left.settings.take(), // these hold after errors, too
            ..Step::default()
        };
        let mut children = self.left.children.take(); // also after errors: they may hold this task
        match returned {
            Ok((result, keyed)) => {
                step.result = result;
                step.keyed = keyed;
                step.children = children.iter().map(|child| child.declaration.clone()).collect();
                if !children.is_empty() {
                    step.lifecycle = self.left.lifecycle.get().to_owned();
                }
            }
            Err(failure) => {
                children.clear();
                step.error = Some(failure.wire());
            }
        }
        Done { step, children, transforms }
    }

    /// Takes over what this sub-handler has set in the patches of the handlers above it, whose last steps do not have
    /// it, and returns what was wrong with it.
    fn take_late(&self, patch: &mut Map<String, Value>, transforms: &mut Transforms) -> Option<Error> {
        let mut problem = None;
        let mut above = self.above.as_ref();
        while let Some(task) = above {
            if task.ended.get() {
                let (mut late, edits, wrong) = task.left.patch.take();
                patch::merge(&mut late, std::mem::take(patch));
                *patch = late;
                transforms.list.extend(edits.list);
                transforms.apply = transforms.apply.or(edits.apply);
                problem = problem.or(wrong);
            }
            above = task.above.as_ref();
        }
        problem
    }

    /// A random number, or the same one if the host has none.
    pub fn random(&self, buffer: &mut [u8]) -> Result<(), Errno> {
        self.host.random(buffer)
    }
}

/// The wait for the answer to a wish.
struct Asking<'a> {
    task: &'a Task,
    wish: Option<Wish>,
}

impl Future for Asking<'_> {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Answer> {
        if let Some(wish) = self.wish.take() {
            if self.task.wish.replace(Some(wish)).is_some() {
                self.task.clash.set(true);
            }
            return Poll::Pending;
        }
        match self.task.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        }
    }
}
