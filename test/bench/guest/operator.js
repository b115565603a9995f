// The operator of the benchmarks in JavaScript.

const copyField = ({ spec, patch }) => { patch.status.field = spec.field; };

kopf.on.create("kopfexamples", { id: "create_fn" }, copyField);
kopf.on.update("kopfexamples", { id: "update_fn" }, copyField);
