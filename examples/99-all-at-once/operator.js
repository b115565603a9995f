// The features of the other examples in one operator.

kopf.wants({ kubernetes: [{ groups: [""], resources: ["configmaps"], verbs: ["create"] }] });

kopf.on.startup(async function prepare({ logger }) {
  await kopf.sleep(0.5);
  logger.info("prepared");
});

kopf.on.startup(function prepare_late({ retry, memo }) {
  if (retry < 2) throw new kopf.TemporaryError("not yet", 0.5);
  memo.set("prepared", true);
});

kopf.on.cleanup(async function clean_up({ logger }) {
  await kopf.sleep(0.5);
  logger.info("cleaned up");
});

kopf.index("configmaps", { labels: { "made-by": "example" } }, function copies({ name }) {
  return new Map([[null, name]]);
});

kopf.on.create("kopfexamples", function first_step({ body, memo }) {
  kopf.info(body, { reason: "Begun", message: "the first step" });
  kopf.event(body, { type: "Warning", reason: "Slow", message: "it may take some seconds" });
  return { prepared: memo.get("prepared") };
});

kopf.on.create("kopfexamples", { backoff: 1 }, function second_step({ retry }) {
  if (retry === 0) throw new Error("the first attempt fails");
  return { attempts: retry + 1 };
});

kopf.on.create("kopfexamples", async function copy({ name, namespace, spec }) {
  const child = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${name}-copy` }, data: { field: spec.field ?? "" } };
  kopf.adopt(child);
  kopf.label(child, { "made-by": "example" });
  await kopf.kubernetes.create(`/api/v1/namespaces/${namespace}/configmaps`, child);
  return { child: child.metadata.name };
});

kopf.on.create("kopfexamples", function each_item({ spec }) {
  for (const item of spec.items ?? []) kopf.subhandler({ id: item }, () => item.toUpperCase());
});

kopf.on.update("kopfexamples", function update_fn({ diff }) {
  return diff.map(([op, path, before, after]) => [op, path.join("."), before, after]);
});

kopf.on.field("kopfexamples", { field: "spec.items" }, function items_changed({ old, new: now }) {
  return { before: (old ?? []).length, after: (now ?? []).length };
});

/** @param {kopf.Daemon & { copies: kopf.Index }} kwargs */
async function watch({ stopped, patch, copies }) {
  while (!(await stopped.wait(0.5))) {
    if (copies.has(null)) {
      patch.status.copies = copies.get(null);
      break;
    }
  }
}
kopf.daemon("kopfexamples", { labels: { watched: "yes" } }, watch);

kopf.timer("kopfexamples", { interval: 1, when: ({ status }) => status.copies && !status.counted }, function count({ patch, status }) {
  patch.status.counted = status.copies.length;
});

kopf.on.delete("kopfexamples", function delete_fn({ logger }) {
  logger.info("good-bye");
});
