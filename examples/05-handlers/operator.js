// One handler for each thing that happens to an object, and two for some of them.

kopf.on.create("kopfexamples", function created_first() {
  return "yes";
});

kopf.on.create("kopfexamples", function created_second({ spec }) {
  return spec.field;
});

kopf.on.resume("kopfexamples", function resumed({ patch }) {
  patch.status.resumed = true; // the operator has restarted, and the object is not new
});

kopf.on.update("kopfexamples", function updated({ diff }) {
  return diff.map(([op, path, before, after]) => [op, path.join("."), before, after]);
});

kopf.on.field("kopfexamples", { field: "spec.field" }, function changed({ old, new: now }) {
  return `${old ?? "None"} -> ${now}`;
});

kopf.on.delete("kopfexamples", function deleted_first({ logger }) {
  logger.info("the object waits for this handler");
});

kopf.on.delete("kopfexamples", function deleted_second({ retry, logger }) {
  if (retry === 0) throw new kopf.TemporaryError("and for this one", 1);
  logger.info("good-bye");
});
