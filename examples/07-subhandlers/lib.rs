//! A handler for each item of a list: each has its own progress, retries and result.

use kopf::{Change, Error};
use std::time::Duration;

kopf::operator!(create_fn);

#[kopf::create("kopfexamples")]
fn create_fn(c: Change) {
    for item in c.spec["items"].as_array().into_iter().flatten().filter_map(|item| item.as_str()) {
        let item = item.to_owned();
        c.sub(item.clone(), async move |c: Change| -> kopf::Result<String> {
            if item == "late" && c.retry == 0 {
                return Err(Error::temporary("once more").delay(Duration::from_secs(1)));
            }
            Ok(format!("hello, {item}"))
        });
    }
}
