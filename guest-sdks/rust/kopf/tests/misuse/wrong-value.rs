use kopf::Change;

#[kopf::create("kopfexamples", labels = "app")]
async fn labelled(_: Change) {}

#[kopf::create("kopfexamples", retries = {"a": 1})]
async fn mapped(_: Change) {}

#[kopf::create(retries = 3, "kopfexamples")]
async fn late(_: Change) {}

fn main() {}
