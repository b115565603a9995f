// Posts Kubernetes events about the handled object, and about another one.

kopf.on.create("kopfexamples", function create_fn({ body, namespace }) {
  kopf.event(body, { type: "Greeting", reason: "Arrived", message: "any type, any reason" });
  kopf.info(body, { reason: "Checked", message: "all is well" });
  kopf.warn(body, { reason: "Slow", message: "it takes a while" });
  kopf.exception(body, { reason: "Failed", message: "the backup:", error: new Error("no backup") });

  const other = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other", namespace } };
  kopf.info(other, { reason: "Mentioned", message: "by an example" });
});
