// The life of an operator: it prepares itself, logs in, reports its health, and says good-bye.

kopf.on.startup({ retries: 3 }, function prepare({ settings, memo }) {
  settings.execution.default_backoff = 10;
  memo.set("handled", 0);
});

kopf.on.login({ retries: 3 }, function login({ logins }) {
  const found = ["service_account", "kubeconfig"].find((name) => logins.includes(name));
  return found ? { login: found } : undefined;
});

kopf.on.probe(function now() {
  return new Date().toISOString();
});

kopf.on.probe(function handled({ memo }) {
  return memo.get("handled");
});

kopf.on.cleanup(function goodbye({ memo, logger }) {
  logger.info(`that was it handled=${memo.get("handled")}`);
});

kopf.on.create("kopfexamples", function create() {
  kopf.memo.update("handled", (handled) => handled + 1);
});
