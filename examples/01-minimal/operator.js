// The smallest operator: it logs each new object, marks it in its status, and returns
// a result.

kopf.on.create("kopfexamples", function create_fn({ spec, patch, logger }) {
  logger.info("a new object field=" + spec.field);
  patch.status.seen = true;
  return { message: "hello" };
});
