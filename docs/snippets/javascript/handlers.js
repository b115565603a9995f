// The kinds of handlers.

// [changes]

kopf.on.create("kopfexamples", function created() {
  return { message: "hello" }; // in status.created
});

kopf.on.update("kopfexamples", function updated({ diff, logger }) {
  for (const [op, path, old, now] of diff) {
    logger.info(`${op} ${path.join(".")}: ${old} -> ${now}`);
  }
});

kopf.on.delete("kopfexamples", function deleted() {});

kopf.on.resume("kopfexamples", function resumed() {});

// [/changes]

// [optional]

kopf.on.delete("kopfexamples", { optional: true }, function missed() {});

// [/optional]

// [deleted]

kopf.on.resume("kopfexamples", { deleted: true }, function rejoined() {});

// [/deleted]

// [lifecycle]

kopf.operator({ lifecycle: "all_at_once" });

// [/lifecycle]

// [field]

kopf.on.field("kopfexamples", { field: "spec.size" }, function resize({ old, new: now, logger }) {
  logger.info(`the size: ${old} -> ${now}`); // values of spec.size
});

// [/field]

// [event]

kopf.on.event("pods", function spied({ type, status, logger }) {
  if (type === null) return; // it is in the listing at the start
  logger.info(`seen type=${type} phase=${status.phase}`);
});

// [/event]

// [closure]

for (const size of ["small", "large"]) {
  kopf.on.create("kopfexamples", { id: `create-${size}` }, ({ logger }) => {
    logger.info(`a closure size=${size}`);
  });
}

// [/closure]

// [one-function]

kopf.on.create("kopfexamples", reconcile);
kopf.on.update("kopfexamples", reconcile);
kopf.on.resume("kopfexamples", reconcile);

// [/one-function]

function reconcile() {}

// [several]

/** @param {kopf.Change} kwargs */
function ensure({ param, logger }) {
  logger.info(`ensured size=${param}`);
}

kopf.on.create("kopfexamples", { id: "small", param: 1 }, ensure);
kopf.on.create("kopfexamples", { id: "large", param: 10 }, ensure);

// [/several]

// [options]

const patient = { retries: 10, backoff: 60 };

kopf.on.create("kopfexamples", { ...patient, labels: { app: kopf.PRESENT } }, function provision() {});
kopf.timer("kopfexamples", { ...patient, interval: 3600 }, function check() {});

// [/options]
