//! Runs a command line of kopf as a test does: until it says that it watches, and then to its end.

use kopf::testing::Runner;
use std::time::Duration;

fn main() {
    let runner = Runner::start(std::env::args().skip(1));
    runner.until("Starting the watch-stream", Duration::from_secs(60));
    println!("{}", runner.output());
    println!("exit code {}", runner.stop());
}
