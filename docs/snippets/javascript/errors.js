// What errors of handlers mean.

// [temporary]

kopf.on.create("kopfexamples", function provision({ status }) {
  if (!status?.volume) throw new kopf.TemporaryError("the volume is not ready", 10);
});

// [/temporary]

// [permanent]

/** @param {kopf.Change} kwargs */
function check({ spec }) {
  if (spec.size > 100) throw new kopf.PermanentError("sizes over 100 are not possible");
}

// [/permanent]

class QuotaError extends Error {}

function reserve() {
  throw new QuotaError("over the quota");
}

// [wrapped]

kopf.on.update("kopfexamples", function wrapped(kwargs) {
  check(kwargs); // still permanent
  try {
    reserve();
  } catch (err) {
    if (err instanceof QuotaError) throw new kopf.TemporaryError(`reserving: ${err.message}`, 60);
    throw err; // arbitrary
  }
});

// [/wrapped]

// [options]

kopf.on.create("kopfexamples", {
  errors: "TEMPORARY", // or "PERMANENT", "IGNORED"
  backoff: 30,
  retries: 5,
  timeout: 600,
}, function fragile() {});

// [/options]
