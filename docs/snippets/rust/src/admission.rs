//! Reviews and conversions.

mod reviews {
    // [admission]

    use kopf::{Error, Review};

    #[kopf::validate("kopfexamples", id = "check-size")]
    fn check_size(r: Review) -> kopf::Result {
        match r.spec["size"].as_i64() {
            Some(..0) => Err(Error::admission("the size cannot be negative").code(422)),
            Some(101..) => Ok(r.warn("large ones take long")),
            _ => Ok(()),
        }
    }

    #[kopf::mutate("kopfexamples", id = "fill-in", operation = "CREATE")]
    fn fill_in(r: Review) {
        if r.spec.get("size").is_none() {
            r.patch.spec().set("size", 1);
        }
    }

    kopf::operator!(check_size, fill_in);

    // [/admission]
}

mod conversions {
    // [conversion]

    use kopf::{Conversion, Value};

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

    kopf::operator!(to_v2, to_v1);

    // [/conversion]

    #[cfg(test)]
    mod tests {
        use super::{to_v1, to_v2};
        use kopf::json;

        // [round-trip]

        #[test]
        fn nothing_is_lost() {
            use kopf::testing::round_trip;
            round_trip("v1", "v2", async |c| to_v2(c), async |c| to_v1(c), [json!({"spec": {"size": 5}})]);
            round_trip("v2", "v1", async |c| to_v1(c), async |c| to_v2(c), [json!({"spec": {"replicas": 5}})]);
        }

        // [/round-trip]
    }
}
