// A daemon for each object: code that waits, sees the changes of its object, and ends when it
// is stopped.

/** @param {kopf.Daemon} cause */
async function monitor(cause) {
  const { stopped, logger } = cause;
  while (!(await stopped.wait(2))) logger.info(`still there field=${cause.spec.field}`);
  logger.info(`good-bye because of ${stopped.reasons().join()}`);
}

kopf.daemon("kopfexamples", { cancellation_timeout: 10 }, monitor);
