// How handlers select objects.

function ready() {}

// [metadata]

kopf.on.create("kopfexamples", {
  labels: { tier: "production", owner: kopf.PRESENT },
  annotations: { "example.com/ignore": kopf.ABSENT },
}, ready);

// [/metadata]

// [callback]

kopf.on.update("kopfexamples", {
  labels: { version: (value) => value?.startsWith("v2") },
}, ready);

// [/callback]

// [field]

kopf.on.update("kopfexamples", { id: "resized", field: "spec.size", old: "small", new: "large" }, ready);
kopf.on.create("kopfexamples", {
  id: "labelled",
  field: ["metadata", "labels", "example.com/tier"],
  value: kopf.PRESENT,
}, ready);

// [/field]

// [when]

kopf.on.create("kopfexamples", { id: "selected", when: kopf.all([inTest, kopf.not(isPaused)]) }, ready);

// [/when]

// [functions]

/** @param {kopf.Cause} kwargs */
function inTest({ namespace }) {
  return namespace?.startsWith("test-");
}

/** @param {kopf.Cause} kwargs */
function isPaused({ spec }) {
  return spec.paused;
}

// [/functions]
