// An operator in JavaScript: each KopfExample gets a ConfigMap with its greeting, is
// watched by a daemon, and may not have a greeting that is used already.

kopf.operator({ name: "greetings", version: "1.0" });
kopf.wants({ kubernetes: [{ groups: [""], resources: ["configmaps"], verbs: ["get", "create", "patch"] }] });

kopf.on.startup(function configure({ settings }) {
  settings.posting.level = 30;
});

// Who uses which greeting: an index, by greeting.
kopf.index("kopfexamples", function by_greeting({ spec, name }) {
  return spec.greeting ? { [spec.greeting]: name } : undefined;
});

/** @param {kopf.Change & { by_greeting: kopf.Index }} kwargs */
async function greet({ spec, body, name, namespace, patch, by_greeting, logger, retry }) {
  const others = by_greeting.get(spec.greeting).filter((other) => other !== name);
  if (others.length > 0) throw new kopf.PermanentError(`${others.join()} says ${spec.greeting} already`);
  if (retry === 0 && spec.slow) throw new kopf.TemporaryError("let me think", 0.5);

  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${name}-greeting` }, data: { text: spec.greeting } };
  kopf.adopt(map, { labels: { app: "greetings" } });
  const made = await kopf.kubernetes.apply(`/api/v1/namespaces/${namespace}/configmaps/${map.metadata.name}`, map);
  logger.info(`${made.metadata.name} says ${made.data.text}`);
  kopf.info(body, { reason: "Greeted", message: spec.greeting });
  patch.status.greeting = spec.greeting;
  return { uid: made.metadata.uid };
}

const greeting = { field: "spec.greeting", value: kopf.PRESENT };
kopf.on.create("kopfexamples", { id: "greet", ...greeting }, greet);
kopf.on.update("kopfexamples", { id: "greet", ...greeting }, greet);

// One after another: sub-handlers with a progress of their own.
kopf.on.field("kopfexamples", { field: "spec.items" }, async function items({ spec, logger }) {
  const greetEach = (spec.items ?? []).map((/** @type {string} */ item) => [item, () => logger.info(`hello, ${item}`)]);
  await kopf.execute(Object.fromEntries(greetEach));
});

kopf.daemon("kopfexamples", { labels: { watched: "yes" } }, async function watchdog(cause) {
  const { stopped, logger, memo } = cause;
  while (!stopped()) {
    memo.update("rounds", (rounds) => (rounds ?? 0) + 1);
    logger.debug(`round ${memo.get("rounds")}: ${cause.spec.greeting}`);
    await stopped.wait(1);
  }
  logger.info(`good-bye because of ${stopped.reasons().join()}`);
});
