// Handlers that are called again and again, while their objects exist.

kopf.timer("kopfexamples", { interval: 2 }, function often({ spec }) {
  return { field: spec.field }; // to the status
});

kopf.timer("kopfexamples", { idle: 5, interval: 5 }, function whenIdle({ logger }) {
  logger.info("nothing has changed for 5 seconds");
});

// It takes a while, but begins every 3 seconds; now and then it fails.
kopf.timer("kopfexamples", { interval: 3, sharp: true, initial_delay: 1 }, async function onTheDot({ retry }) {
  if (retry === 0 && new Date().getSeconds() % 4 === 0) throw new kopf.TemporaryError("not now", 1);
  await kopf.sleep(1);
});
