use kopf::Change;

#[kopf::create]
async fn missing(_: Change) {}

#[kopf::create("a", "b", "c", "d")]
async fn long(_: Change) {}

#[kopf::create("a", plural = "b")]
async fn both(_: Change) {}

#[kopf::field("a")]
async fn no_field(_: Change) {}

fn main() {}
