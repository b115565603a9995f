// Compares an external state with the desired one.

// [timer]

kopf.timer("kopfexamples", { interval: 300 }, function compare({ spec, name, patch, logger }) {
  const want = spec.replicas ?? 0;
  const have = measure(name);
  if (have !== want) {
    logger.info(`the state differs want=${want} have=${have}`);
    patch.status.missing = want - have;
  }
});

// [/timer]

/** @param {string} name */
function measure(name) {
  return name.length;
}
