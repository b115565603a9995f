//! An operator whose handlers are tested.

use kopf::{Change, Error, Value, json};

kopf::operator!(create_fn);

#[kopf::create("kopfexamples")]
fn create_fn(c: Change) -> kopf::Result<Value> {
    if c.spec["field"] == "wrong" {
        return Err(Error::permanent("this field is wrong"));
    }
    kopf::info!(c, "tested");
    c.patch.status().set("tested", true);
    Ok(json!({"field": c.spec["field"]}))
}

#[cfg(test)]
mod tests {
    use super::create_fn;
    use kopf::json;
    use kopf::testing::Fixture;

    #[test]
    fn an_object_is_marked() {
        let outcome = Fixture::new(json!({"spec": {"field": "value"}})).run(async |c| create_fn(c));
        assert_eq!(outcome.result, json!({"field": "value"}));
        assert_eq!(outcome.patch, json!({"status": {"tested": true}}));
    }

    #[test]
    fn a_wrong_field_fails_permanently() {
        let outcome = Fixture::new(json!({"spec": {"field": "wrong"}})).run(async |c| create_fn(c));
        assert_eq!(outcome.error.unwrap().message, "this field is wrong");
    }
}
