// An operator like any other: operators of one peering object pause for the one with the
// highest priority.

kopf.on.create("kopfexamples", function create_fn({ logger, patch }) {
  logger.info("handled by one operator only");
  patch.status.handled = true;
});
