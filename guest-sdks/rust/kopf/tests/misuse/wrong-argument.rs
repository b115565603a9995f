use kopf::Change;

#[kopf::create("kopfexamples")]
async fn none() {}

#[kopf::create("kopfexamples")]
async fn two(_: Change, _: u32) {}

#[kopf::daemon("kopfexamples")]
async fn generic<T>(_: T) {}

fn main() {}
