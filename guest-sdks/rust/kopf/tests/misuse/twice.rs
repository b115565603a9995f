use kopf::Change;

#[kopf::create("kopfexamples")]
#[kopf::update("kopfexamples")]
#[kopf::create("kopfexamples")]
async fn handler(_: Change) {}

#[kopf::create("kopfexamples", id = "a", id = "b")]
async fn two_ids(_: Change) {}

fn main() {}
