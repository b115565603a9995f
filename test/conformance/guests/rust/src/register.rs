//! Handlers by their decorators.

use crate::call::{Argument, Call};
use crate::cases::Spec;
use crate::filters;
use crate::times::seconds;
use crate::values::{list, text};
use kopf::{EVERYTHING, Error, ErrorsMode, Handler, Indexed, Keyed, Review, Selector, Value};
use std::rc::Rc;

/// The handler of one decorator.
pub fn handler(spec: &Rc<Spec>, decorator: &Value) -> kopf::Result<Handler> {
    let resource = || selector(&decorator["resource"]);
    let kind = text(decorator, "type");
    let made = match kind {
        "create" => Handler::create(resource()?, run(spec, Argument::Change)),
        "update" => Handler::update(resource()?, run(spec, Argument::Change)),
        "delete" => Handler::delete(resource()?, run(spec, Argument::Change)),
        "resume" => Handler::resume(resource()?, run(spec, Argument::Change)),
        "field" => Handler::on_field(resource()?, run(spec, Argument::Change)),
        "event" => Handler::event(resource()?, run(spec, Argument::Event)),
        "timer" => Handler::timer(resource()?, run(spec, Argument::Timer)),
        "daemon" => Handler::daemon(resource()?, run(spec, Argument::Daemon)),
        "index" => Handler::index(resource()?, index(spec)),
        "validate" => Handler::validate(resource()?, review(spec)),
        "mutate" => Handler::mutate(resource()?, review(spec)),
        "startup" => Handler::startup(run(spec, Argument::Activity)),
        "cleanup" => Handler::cleanup(run(spec, Argument::Activity)),
        "probe" => Handler::probe(run(spec, Argument::Activity)),
        "login" => Handler::login(run(spec, Argument::Activity)),
        kind => {
            return Err(Error::permanent(format_args!("{}: unknown type of a handler: {kind:?}", spec.name)));
        }
    };
    options(spec, made.id(&spec.name), decorator)
}

/// A function that runs the script.
fn run<A: 'static>(spec: &Rc<Spec>, wrap: fn(A) -> Argument) -> impl AsyncFn(A) -> kopf::Result<Value> + 'static {
    let spec = spec.clone();
    async move |argument: A| Call::new(&spec, wrap(argument)).handle().await
}

/// A sub-handler.
pub fn sub(spec: &Rc<Spec>, id: &str) -> Handler {
    Handler::sub(id, run(spec, Argument::Change))
}

fn review(spec: &Rc<Spec>) -> impl AsyncFn(Review) -> kopf::Result + 'static {
    let spec = spec.clone();
    async move |r: Review| Call::new(&spec, Argument::Review(r)).handle().await.map(drop)
}

/// Makes keys of maps, as the reference does; other values have the key null.
fn index(spec: &Rc<Spec>) -> impl AsyncFn(Indexed) -> kopf::Result<Option<Keyed>> + 'static {
    let spec = spec.clone();
    async move |o: Indexed| {
        Ok(match Call::new(&spec, Argument::Indexed(o)).handle().await? {
            Value::Null => None,
            Value::Object(map) => Some(map.into_iter().collect()),
            value => Some(Keyed::new().with((), value)),
        })
    }
}

/// All notations of resources.
fn selector(resource: &Value) -> kopf::Result<Selector> {
    let parts = |items: &[Value]| -> Vec<String> {
        items.iter().map(|part| part.as_str().unwrap_or(EVERYTHING).to_owned()).collect()
    };
    let of = |parts: Vec<String>| Selector::from(parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice());
    match resource {
        Value::String(name) => Ok(Selector::from(name.as_str())),
        Value::Array(items) => Ok(of(parts(items))),
        Value::Object(map) if map.get("everything") == Some(&Value::Bool(true)) => Ok(Selector::from(EVERYTHING)),
        Value::Object(map) => {
            if let Some(within) = map.get("everything_in") {
                let mut all = parts(list(within));
                all.push(EVERYTHING.to_owned());
                return Ok(of(all));
            }
            if let Some(wanted) = map.get("where") {
                let group = text(wanted, "group").to_owned();
                return Ok(Selector::matching(move |resource| resource.group == group));
            }
            let named = |selector: Selector, (key, value): (&String, &Value)| {
                let value = value.as_str().unwrap_or_default();
                match key.as_str() {
                    "group" => selector.group(value),
                    "version" => selector.version(value),
                    "kind" => selector.kind(value),
                    "plural" => selector.plural(value),
                    "singular" => selector.singular(value),
                    "shortcut" => selector.shortcut(value),
                    _ => selector.category(value),
                }
            };
            Ok(map.iter().fold(Selector::new(), named))
        }
        other => Err(Error::permanent(format_args!("unknown notation of a resource: {other}"))),
    }
}

/// Sets the options of a decorator. What is null is not said; what is no option is not looked at.
pub fn options(spec: &Rc<Spec>, handler: Handler, given: &Value) -> kopf::Result<Handler> {
    let mut handler = handler;
    for (name, value) in given.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        handler = option(spec, handler, name, value)?;
    }
    Ok(handler)
}

fn option(spec: &Rc<Spec>, h: Handler, name: &str, value: &Value) -> Result<Handler, Error> {
    let yes = value == true;
    let word = value.as_str().unwrap_or_default();
    Ok(match name {
        "id" => h.id(word),
        "param" => h.param(value),
        "errors" => h.errors(match word {
            "PERMANENT" => ErrorsMode::Permanent,
            "IGNORED" => ErrorsMode::Ignored,
            _ => ErrorsMode::Temporary,
        }),
        "retries" => h.retries(value.as_u64().unwrap_or_default() as u32),
        "timeout" => h.timeout(seconds(value)),
        "backoff" => h.backoff(seconds(value)),
        "interval" => h.interval(seconds(value)),
        "idle" => h.idle(seconds(value)),
        "initial_delay" if value.is_object() => {
            let (interpreter, delay) = (spec.interpreter.clone(), seconds(&value["delay"]));
            h.initial_delay_fn(move |_| {
                interpreter.emit(kopf::json!({"callback": "initial_delay"}));
                delay
            })
        }
        "initial_delay" => h.initial_delay(seconds(value)),
        "cancellation_backoff" => h.cancellation_backoff(seconds(value)),
        "cancellation_timeout" => h.cancellation_timeout(seconds(value)),
        "cancellation_polling" => h.cancellation_polling(seconds(value)),
        "optional" => h.optional(yes),
        "deleted" => h.deleted(yes),
        "sharp" => h.sharp(yes),
        "persistent" => h.persistent(yes),
        "side_effects" => h.side_effects(yes),
        "ignore_failures" => h.ignore_failures(yes),
        "operation" => h.operation(word),
        "operations" => h.operations(list(value).iter().filter_map(Value::as_str)),
        "subresource" => h.subresource(word),
        "field" if value.is_array() => {
            h.field(list(value).iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
        }
        "field" => h.field(word),
        "labels" => filters::each(value).fold(h, |h, (key, f)| h.label(key, filters::of_value(spec, f))),
        "annotations" => filters::each(value).fold(h, |h, (key, f)| h.annotation(key, filters::of_value(spec, f))),
        "value" => h.value(filters::of_field(spec, value)),
        "old" => h.old(filters::of_field(spec, value)),
        "new" => h.new_value(filters::of_field(spec, value)),
        "when" => h.when(filters::of_all(spec, value)),
        _ => h,
    })
}
