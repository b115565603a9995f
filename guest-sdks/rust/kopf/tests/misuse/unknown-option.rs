use kopf::Change;

#[kopf::create("kopfexamples", retrys = 3)]
async fn misspelled(_: Change) {}

#[kopf::create("kopfexamples", colour = "red")]
async fn invented(_: Change) {}

fn main() {}
