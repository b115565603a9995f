// Handlers that wait.

kopf.wants({ kubernetes: [{ groups: [""], resources: ["pods"], verbs: ["get"] }] });

// [sleep]

kopf.on.create("kopfexamples", async function create({ logger }) {
  await kopf.sleep(30); // throws if cancelled: the operator exits
  logger.info("half a minute later");
});

// [/sleep]

// [context]

kopf.on.update("kopfexamples", async function update({ namespace }) {
  await poll(namespace, 60);
});

/**
 * It knows nothing of handlers.
 * @param {string | null} namespace
 * @param {number} seconds
 */
async function poll(namespace, seconds) {
  for (let waited = 0; waited < seconds; waited++) {
    const pod = await kopf.kubernetes.get(`/api/v1/namespaces/${namespace}/pods/db-0`);
    if (pod.status?.phase === "Running") return;
    await kopf.sleep(1);
  }
  throw new kopf.TemporaryError("db-0 does not run yet");
}

// [/context]
