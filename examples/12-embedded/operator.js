// An operator that an application runs and gives a memo.

kopf.on.create("kopfexamples", function create_fn({ name, memo, patch }) {
  patch.status.greeting = String(memo.get("greeting") ?? "Hello, {name}!").replace("{name}", name);
});

kopf.on.delete("kopfexamples", function delete_fn({ name, memo, logger }) {
  logger.info(String(memo.get("farewell") ?? "Good-bye, {name}!").replace("{name}", name));
});
