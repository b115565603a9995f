//! What handlers get.

use kopf::Change;
use serde::Deserialize;

// [views]

#[kopf::create("kopfexamples")]
async fn views(c: Change) {
    let size = c.spec["volumes"][0]["size"].as_i64().unwrap_or(0); // 0 if any step is missing
    if c.spec.get("paused").is_some() && c.labels["tier"] != "test" {
        kopf::info!(c, "paused size={size}");
    }
    for (name, value) in c.annotations.as_object().into_iter().flatten() {
        c.log.debug(format!("annotation name={name} value={value}"));
    }
}

// [/views]

// [decode]

#[derive(Deserialize)]
struct VolumeSpec {
    size: u32,
    #[serde(default)]
    zones: Vec<String>,
}

#[kopf::update("kopfexamples")]
async fn typed(c: Change) -> kopf::Result {
    let spec: VolumeSpec = c.spec.decode()?; // spec.size: invalid type
    kopf::info!(c, "{} GB in {} zones", spec.size, spec.zones.len());
    Ok(())
}

// [/decode]

// [spec]

#[kopf::create("volumes")]
async fn provision(c: Change<VolumeSpec>) -> kopf::Result<u32> {
    let copies = c.spec.zones.len().max(1) as u32; // c.body has all the rest, with any type
    Ok(c.spec.size * copies)
}

// [/spec]
