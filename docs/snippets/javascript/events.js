// How handlers post Kubernetes events.

// [events]

kopf.on.create("kopfexamples", function create({ body }) {
  kopf.info(body, { reason: "Created", message: "the volume is there" });
  kopf.warn(body, { reason: "Slow", message: "it took a while" });
  kopf.exception(body, { error: new Error("no backup"), message: "the backup failed:" });
});

// [/events]

// [about]

kopf.on.update("kopfexamples", function update() {
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "default", name: "pod-1" } };
  kopf.event(pod, { type: "Normal", reason: "Restarted", message: "by the operator" });
});

// [/about]
