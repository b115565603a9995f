// Sees each event of the watch. Nothing is stored about these handlers, and they are not
// repeated.

kopf.on.event("kopfexamples", function fails() {
  throw new Error("logged, and ignored");
});

kopf.on.event("kopfexamples", function sees({ type, spec, patch, logger }) {
  logger.info(`seen type=${type}`);
  if (type !== "DELETED") patch.status.seen = spec.field;
});
