// Handlers for liveness probes.

// [probe]

kopf.on.probe(function now() {
  return new Date().toISOString();
});

kopf.on.probe(function handled({ memo }) {
  return memo.get("handled") ?? 0;
});

// [/probe]
