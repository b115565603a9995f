import { Change, Outcome, info, on, quote } from "./kopf";
export { kopf_register, kopf_start } from "./kopf";

on("create", "create_fn", "kopfexamples", (c: Change): Outcome => {
  info("a new object field=" + c.spec.get("field").text());
  const done = new Outcome();
  done.patch = '{"status":{"seen":true}}';
  done.result = '{"message":' + quote("hello, " + c.name) + "}";
  return done;
});

on("update", "update_fn", "kopfexamples", (c: Change): Outcome => {
  if (c.retry == 0) return Outcome.failed("temporary", "not yet", 0.1);
  return Outcome.failed("permanent", "never");
}, ',"backoff":0.1');
