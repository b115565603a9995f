// An operator whose handlers are tested: see operator_test.yaml.

kopf.on.create("kopfexamples", function create_fn({ spec, patch, logger }) {
  if (spec.field === "wrong") throw new kopf.PermanentError("this field is wrong");
  logger.info("tested");
  patch.status.tested = true;
  return { field: spec.field };
});
