// What follows an error depends on its type, and on the options of the handler.

class OutOfPaper extends Error {} // an error of the operator itself, which the host does not know

kopf.on.create("kopfexamples", function gives_up() {
  throw new kopf.PermanentError("this can never work");
});

kopf.on.create("kopfexamples", function succeeds_late({ retry, patch }) {
  patch.status.attempts = retry + 1; // patches are applied after errors, too
  if (retry < 2) throw new kopf.TemporaryError("not yet", 1);
  return "done";
});

kopf.on.create("kopfexamples", { retries: 3, backoff: 1 }, function fails_late({ retry, patch }) {
  patch.status.failures = retry + 1;
  throw new OutOfPaper("tried again after one second, three times in all");
});

kopf.on.create("kopfexamples", { errors: "PERMANENT" }, function fails_at_once() {
  throw new OutOfPaper("not tried again");
});

kopf.on.create("kopfexamples", { errors: "IGNORED" }, function is_ignored() {
  throw new OutOfPaper("counted as a success");
});
