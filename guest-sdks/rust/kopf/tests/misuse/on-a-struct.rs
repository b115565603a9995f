#[kopf::create("kopfexamples")]
struct NotAFunction;

fn main() {}
