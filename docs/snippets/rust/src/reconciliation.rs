//! Compares an external state with the desired one.

use kopf::Timer;

// [timer]

#[kopf::timer("kopfexamples", interval = 300)]
async fn compare(t: Timer) {
    let (want, have) = (t.spec["replicas"].as_i64().unwrap_or(0), measure(&t.name));
    if have != want {
        kopf::info!(t, "the state differs want={want} have={have}");
        t.patch.status().set("missing", want - have);
    }
}

// [/timer]

fn measure(name: &str) -> i64 {
    name.len() as i64
}
