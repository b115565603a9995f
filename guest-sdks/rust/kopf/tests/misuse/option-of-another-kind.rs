use kopf::{Activity, Change};

#[kopf::create("kopfexamples", optional = true)]
async fn created(_: Change) {}

#[kopf::startup("kopfexamples")]
async fn started(_: Activity) {}

fn main() {}
