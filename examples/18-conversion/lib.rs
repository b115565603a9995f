//! Converts objects between two versions of their resource: v1 has a size in words, v2 has a
//! number of gigabytes.

use kopf::{Conversion, Error, Map, Value};

const SIZES: [(&str, u64); 3] = [("small", 10), ("medium", 100), ("large", 1000)];

/// Keeps a number that v1 has no word for, so that it survives the way back.
const ODD: &str = "example.com/gigabytes";

#[kopf::convert("databases.data.example.com", from = "v1", to = "v2")]
fn to_number(mut c: Conversion) -> kopf::Result<Value> {
    if c.object["spec"]["size"].is_null() {
        return Ok(c.object); // such as an object that was stored before the conversion
    }
    let odd = part(&mut c.object["metadata"]["annotations"]).remove(ODD);
    let spec = part(&mut c.object["spec"]);
    let word = spec.remove("size").unwrap_or_default();
    let known = SIZES.iter().find(|(name, _)| word == *name).map(|(_, gigabytes)| *gigabytes);
    let kept = odd.as_ref().filter(|_| word == "custom").and_then(|text| text.as_str()?.parse().ok());
    let gigabytes = known.or(kept).ok_or_else(|| Error::permanent(format_args!("unknown size {word}")))?;
    spec.insert("gigabytes".to_owned(), gigabytes.into());
    Ok(c.object)
}

#[kopf::convert("databases.data.example.com", from = "v2", to = "v1")]
fn to_words(mut c: Conversion) -> Value {
    let spec = part(&mut c.object["spec"]);
    let Some(gigabytes) = spec.remove("gigabytes").and_then(|number| number.as_u64()) else {
        return c.object;
    };
    let word = SIZES.iter().find(|(_, number)| *number == gigabytes).map(|(name, _)| *name);
    spec.insert("size".to_owned(), word.unwrap_or("custom").into());
    if word.is_none() {
        part(&mut c.object["metadata"]["annotations"]).insert(ODD.to_owned(), gigabytes.to_string().into());
    }
    c.object
}

/// A part of an object, which is made if it is not there.
fn part(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Map::new().into();
    }
    value.as_object_mut().unwrap()
}

kopf::operator!(to_number, to_words);

#[cfg(test)]
mod tests {
    use super::{to_number, to_words};
    use kopf::testing::round_trip;
    use kopf::{Value, json};

    fn database(spec: Value) -> Value {
        json!({"kind": "Database", "metadata": {"name": "db"}, "spec": spec})
    }

    #[test]
    fn nothing_is_lost() {
        let v1 = [json!({"size": "small"}), json!({"size": "large", "owner": "me"}), json!({"owner": "me"})];
        round_trip("v1", "v2", async |c| to_number(c), async |c| to_words(c), v1.map(database));
        let v2 = [json!({"gigabytes": 100}), json!({"gigabytes": 123}), json!({"owner": "me"})];
        round_trip("v2", "v1", async |c| to_words(c), async |c| to_number(c), v2.map(database));
    }
}
