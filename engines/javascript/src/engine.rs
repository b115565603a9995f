//! The interpreter, with the library and the script.

use kopf_abi::{Host, Wasm, answer, find_segment, keep_numbers, tag};
use rquickjs::function::{Args, IntoArgs};
use rquickjs::loader::{BuiltinLoader, BuiltinResolver};
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Module, Object, Persistent, Result, Runtime, Value,
};

/// The library: the names of its modules, and their text.
const LIBRARY: &[(&str, &str)] = &[
    ("kopf", include_str!("../lib/kopf.js")),
    ("kopf/calls", include_str!("../lib/calls.js")),
    ("kopf/declarations", include_str!("../lib/declarations.js")),
    ("kopf/errors", include_str!("../lib/errors.js")),
    ("kopf/exchange", include_str!("../lib/exchange.js")),
    ("kopf/filters", include_str!("../lib/filters.js")),
    ("kopf/hierarchies", include_str!("../lib/hierarchies.js")),
    ("kopf/host", include_str!("../lib/host.js")),
    ("kopf/kwargs", include_str!("../lib/kwargs.js")),
    ("kopf/logging", include_str!("../lib/logging.js")),
    ("kopf/options", include_str!("../lib/options.js")),
    ("kopf/patches", include_str!("../lib/patches.js")),
    ("kopf/settings", include_str!("../lib/settings.js")),
    ("kopf/stores", include_str!("../lib/stores.js")),
    ("kopf/tasks", include_str!("../lib/tasks.js")),
];

/// The stack of scripts, in bytes; that of the module has 1 MiB. Beyond it, a script
/// gets an error that it can catch.
const STACK: usize = 384 << 10;

/// How much is allocated between two searches for cycles, in bytes. Each one touches
/// all objects, and so makes a clone's pages its own; what refers to itself is rare.
const GARBAGE: usize = 2 << 20;

/// The interpreter of one instance.
pub struct Engine {
    context: Context,
    /// What the library exports for the host, by the names of messages.
    exchange: Persistent<Object<'static>>,
}

impl Engine {
    /// Loads the library. The runtime is never dropped: the instance is.
    pub fn new() -> Engine {
        let runtime = Runtime::new().expect("there is memory for an interpreter");
        runtime.set_max_stack_size(STACK);
        runtime.set_gc_threshold(GARBAGE);
        let (mut resolver, mut loader) = (BuiltinResolver::default(), BuiltinLoader::default());
        for (name, text) in LIBRARY {
            resolver.add_module(*name);
            loader.add_module(*name, *text);
        }
        runtime.set_loader(resolver, loader);
        let context = Context::full(&runtime).expect("there is memory for a context");
        let exchange = context.with(|ctx| {
            let loaded = load(&ctx);
            loaded.catch(&ctx).unwrap_or_else(|error| die(&error.to_string()))
        });
        let library = exchange.clone();
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, awaited| {
            let called: Result<()> = library
                .clone()
                .restore(&ctx)
                .and_then(|exchange| exchange.get::<_, Function>("rejected")?.call((promise, reason, awaited)));
            let _ = called.catch(&ctx); // an endless recursion leaves no stack for it
        })));
        Engine { context, exchange }
    }

    /// Runs the script, and answers the registration, or why there is none.
    pub fn register(&self, request: &[u8]) -> u64 {
        self.context.with(|ctx| {
            let registered = self.evaluate(&ctx, request).catch(&ctx);
            text(match registered {
                Ok(registration) => registration,
                Err(CaughtError::Exception(error)) => self.ask(&ctx, "refuse", (error.into_value(),)),
                Err(CaughtError::Value(thrown)) => self.ask(&ctx, "refuse", (thrown,)),
                Err(CaughtError::Error(error)) => die(&error.to_string()),
            })
        })
    }

    fn evaluate<'js>(&self, ctx: &Ctx<'js>, request: &[u8]) -> Result<String> {
        let exchange = self.exchange.clone().restore(ctx)?;
        let script: Object = exchange.get::<_, Function>("script")?.call((utf8(request),))?;
        let name: String = script.get("name")?;
        let evaluated = Module::evaluate(ctx.clone(), name, script.get::<_, String>("text")?)?;
        settle(ctx);
        match evaluated.result::<Value>() {
            Some(done) => drop(done?),
            None => {
                return Err(rquickjs::Exception::throw_message(ctx, "the script waits for something that never comes"));
            }
        }
        exchange.get::<_, Function>("register")?.call(())
    }

    /// Starts or resumes a task, lets its functions run as far as they come, and answers
    /// the step that they wish.
    pub fn advance(&self, task: u32, how: &str, message: &[u8]) -> u64 {
        self.context.with(|ctx| {
            let converted: Option<String> = match how {
                "start" => self.ask(&ctx, how, (task, segment(message, tag::HEADER), segment(message, tag::BODY))),
                _ => self.ask(&ctx, how, (task, utf8(message))),
            };
            settle(&ctx);
            let step: String = self.ask(&ctx, "step", (task,));
            match converted {
                Some(before) => kept("result", before.as_bytes(), &step),
                None => text(step),
            }
        })
    }

    /// Answers the questions about an object.
    pub fn questions(&self, task: u32, message: &[u8]) -> u64 {
        let arguments = (task, segment(message, tag::HEADER), segment(message, tag::BODY));
        self.context.with(|ctx| text(self.ask(&ctx, "ask", arguments)))
    }

    /// Applies the functions that a task has left to a body. Integers that were only rounded stay.
    pub fn transform(&self, task: u32, body: &[u8]) -> u64 {
        let answered: String = self.context.with(|ctx| self.ask(&ctx, "transform", (task, utf8(body))));
        kept("body", body, &answered)
    }

    /// Forgets a task.
    pub fn release(&self, task: u32) {
        self.context.with(|ctx| self.ask::<()>(&ctx, "release", (task,)));
    }

    /// Calls the library. It catches what scripts throw: all else ends the instance.
    fn ask<'js, R: rquickjs::FromJs<'js>>(&self, ctx: &Ctx<'js>, name: &str, arguments: impl IntoArgs<'js>) -> R {
        let call = || -> Result<R> {
            let exchange = self.exchange.clone().restore(ctx)?;
            let mut args = Args::new(ctx.clone(), arguments.num_args());
            arguments.into_args(&mut args)?;
            exchange.get::<_, Function>(name)?.call_arg(args)
        };
        call().catch(ctx).unwrap_or_else(|error| die(&error.to_string()))
    }
}

fn load<'js>(ctx: &Ctx<'js>) -> Result<Persistent<Object<'static>>> {
    crate::functions::define(ctx)?;
    let imported = Module::import(ctx, "kopf/exchange")?;
    settle(ctx);
    let exchange: Object = imported.finish()?;
    Ok(Persistent::save(ctx, exchange))
}

/// Runs whatever continues by itself.
fn settle(ctx: &Ctx) {
    while ctx.execute_pending_job() {}
}

/// An answer with an object, whose integers that were only rounded are those of the object before.
fn kept(key: &str, before: &[u8], answered: &str) -> u64 {
    let before = [format!("{{\"{key}\":").as_bytes(), before, b"}"].concat();
    answer(keep_numbers(&before, answered.as_bytes(), |old, new| float(old) == float(new)))
}

/// A number as JavaScript has it.
fn float(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn text(answered: String) -> u64 {
    answer(answered.into_bytes())
}

/// A segment of a frame, which is JSON; empty if there is none.
fn segment(frame: &[u8], tag: u32) -> String {
    utf8(find_segment(frame, tag).unwrap_or_default())
}

fn utf8(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Ends the instance; the host shows the line.
pub fn die(message: &str) -> ! {
    Wasm.log(0, 50, message);
    std::process::abort()
}
