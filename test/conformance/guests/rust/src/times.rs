//! Times of cases.

use serde_json::Value;
use std::time::Duration;

/// A number of seconds, whole or not.
pub fn seconds(value: &Value) -> Duration {
    Duration::try_from_secs_f64(value.as_f64().unwrap_or_default()).unwrap_or_default()
}
