// Handlers that look at other objects.

// [keyed]

kopf.index("pods", { id: "pods_by_node" }, ({ spec, name }) => {
  return { [spec.nodeName]: name };
});

kopf.on.create("kopfexamples", function create({ spec, indices, logger }) {
  for (const pod of indices.pods_by_node.get(spec.node)) {
    logger.info(`a neighbour pod=${pod}`);
  }
});

// [/keyed]

// [values]

kopf.index("kopfexamples", function names({ name }) {
  return name;
});

kopf.on.update("kopfexamples", function update({ indices, logger }) {
  logger.info(`all of us names=${indices.names.get(null)}`);
});

// [/values]
