//! Children of the handled object.

use crate::call::Call;
use crate::values::{list, text};
use kopf::{Adoption, Error, FieldPath, Owner, OwnerFlag, Value, json};

/// Makes children of the handled object, and prints them.
pub fn perform(call: &Call, arg: &Value) -> kopf::Result {
    let object = call.object().ok_or_else(|| Error::permanent("hierarchies are for handlers of objects"))?;
    let mut objs = arg["objs"].clone();
    let mut names = Vec::new();
    for item in list(&arg["calls"]) {
        let owner = match item["kwargs"].get("owner") {
            Some(other) => Owner::of(other)?,
            None => object.owner(),
        };
        let owner = owner.with(adoption(&item["kwargs"]));
        let name = text(item, "fn");
        match name {
            "adopt" => owner.adopt(&mut objs)?,
            "append_owner_reference" => owner.append_owner_reference(&mut objs)?,
            "remove_owner_reference" => owner.remove_owner_reference(&mut objs)?,
            "label" => owner.label(&mut objs)?,
            "harmonize_naming" => owner.harmonize_naming(&mut objs)?,
            "adjust_namespace" => owner.adjust_namespace(&mut objs)?,
            _ => return Err(Error::permanent(format_args!("unknown function: {name}"))),
        }
        names.push(name);
    }
    call.interpreter().emit(json!({"hierarchy": names, "objs": objs}));
    Ok(())
}

/// The arguments of the reference as those of the SDK.
fn adoption(kwargs: &Value) -> Adoption {
    let labels = kwargs["labels"].as_object();
    Adoption {
        forced: kwargs["forced"] == true || kwargs["force"] == true,
        strict: kwargs["strict"] == true,
        nested: match &kwargs["nested"] {
            Value::String(field) => vec![field.as_str().keys()],
            fields => list(fields).iter().map(path).collect(),
        },
        labels: labels.map(|map| {
            map.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
        }),
        name: kwargs["name"].as_str().map(str::to_owned),
        namespace: kwargs.get("namespace").map(|namespace| namespace.as_str().map(str::to_owned)),
        controller: flag(kwargs, "controller"),
        block_owner_deletion: flag(kwargs, "block_owner_deletion"),
    }
}

/// The path of a field: a text with dots, or its keys.
fn path(field: &Value) -> Vec<String> {
    match field.as_str() {
        Some(text) => text.keys(),
        None => list(field).iter().filter_map(Value::as_str).map(str::to_owned).collect(),
    }
}

/// A flag is true if it is absent, and omitted if it is null.
fn flag(kwargs: &Value, name: &str) -> OwnerFlag {
    match kwargs.get(name) {
        None | Some(Value::Bool(true)) => OwnerFlag::True,
        Some(Value::Bool(false)) => OwnerFlag::False,
        Some(_) => OwnerFlag::Omitted,
    }
}
