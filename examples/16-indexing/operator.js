// Handlers that look at other objects without asking the cluster: indices of config maps by
// their labels, and of all examples.

kopf.index("configmaps", { labels: { app: kopf.PRESENT } }, function byApp({ labels, name }) {
  return { [labels.app]: name }; // several config maps can have one key
});

kopf.index("kopfexamples", function names({ name }) {
  return new Map([[null, name]]); // without keys
});

/** @param {kopf.Change & { byApp: kopf.Index, names: kopf.Index }} kwargs */
function create({ spec, byApp, names, logger }) {
  const configs = byApp.get(spec.field);
  logger.info(`both are complete before any handler runs configs=${configs} examples=${names.get(null).length}`);
  return { configs };
}

kopf.on.create("kopfexamples", create);
