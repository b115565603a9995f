// Handlers that run as long as an object exists.

// [daemon]

kopf.daemon("kopfexamples", async function monitor(kwargs) {
  const { stopped, logger } = kwargs;
  while (!stopped()) {
    logger.info(`still there field=${kwargs.spec.field}`); // the newest one
    await stopped.wait(10);
  }
  logger.info(`good-bye why=${stopped.reasons()}`);
});

// [/daemon]

// [sleep]

kopf.daemon("kopfexamples", async function backup({ stopped }) {
  while (!stopped()) {
    await kopf.sleep(3600); // throws if cancelled
  }
});

// [/sleep]

// [options]

kopf.daemon("kopfexamples", {
  labels: { backup: kopf.PRESENT },
  initial_delay: 30,
  cancellation_backoff: 10,
  cancellation_timeout: 20,
}, async function archive({ stopped }) {
  while (!(await stopped.wait(3600)));
});

// [/options]
