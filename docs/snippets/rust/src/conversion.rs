//! Handlers that convert objects between versions.

use kopf::{Conversion, Value};

// [convert]

#[kopf::convert("widgets.example.com", from = "v1", to = "v2")]
fn to_v2(c: Conversion) -> Value {
    renamed(c.object, "size", "replicas")
}

#[kopf::convert("widgets.example.com", from = "v2", to = "v1")]
fn to_v1(c: Conversion) -> Value {
    renamed(c.object, "replicas", "size")
}

fn renamed(mut object: Value, old: &str, new: &str) -> Value {
    if let Some(spec) = object["spec"].as_object_mut() {
        let value = spec.remove(old);
        spec.extend(value.map(|value| (new.to_owned(), value)));
    }
    object
}

// [/convert]

#[cfg(test)]
mod tests {
    use super::{to_v1, to_v2};
    use kopf::json;

    // [test]

    #[test]
    fn nothing_is_lost() {
        use kopf::testing::round_trip;
        round_trip("v1", "v2", async |c| to_v2(c), async |c| to_v1(c), [json!({"spec": {"size": 5}})]);
        round_trip("v2", "v1", async |c| to_v1(c), async |c| to_v2(c), [json!({"spec": {"replicas": 5}})]);
    }

    // [/test]
}
