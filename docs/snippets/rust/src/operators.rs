//! Tests of operators.

#[cfg(test)]
mod tests {
    // [testing]

    use kopf::testing::Fixture;
    use kopf::{Change, Error, Value, json};
    use std::time::Duration;

    async fn create_fn(c: Change) -> kopf::Result<Value> {
        if c.spec["paid"] != true {
            return Err(Error::temporary("it is not paid yet").delay(Duration::from_secs(5)));
        }
        c.patch.status().set("phase", "Active");
        Ok(json!({"days": c.spec["days"]}))
    }

    #[test]
    fn creates() {
        let outcome = Fixture::new(json!({"spec": {"paid": true, "days": 30}})).run(create_fn);
        assert_eq!(outcome.result, json!({"days": 30}));
        assert_eq!(outcome.patch, json!({"status": {"phase": "Active"}}));
    }

    #[test]
    fn waits_for_the_payment() {
        let outcome = Fixture::new(json!({"spec": {"days": 30}})).run(create_fn);
        assert_eq!(outcome.error.unwrap().message, "it is not paid yet");
    }

    // [/testing]

    // [scenarios]

    #[test]
    #[ignore = "it needs the module"]
    fn scenarios() {
        let module = "target/wasm32-unknown-unknown/release/operator.wasm";
        kopf::testing::scenarios(["--module", module, "operator_test.yaml"]);
    }

    // [/scenarios]

    // [runner]

    use kopf::testing::Runner;

    #[test]
    #[ignore = "it needs a cluster"]
    fn operates() {
        let runner = Runner::start(["run", "operator.wasm", "-n", "default", "--verbose"]);
        runner.until("Handling cycle is finished", Duration::from_secs(60));
        assert_eq!(runner.stop(), 0, "exit code");
    }

    // [/runner]
}
