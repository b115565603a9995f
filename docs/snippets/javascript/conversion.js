// Handlers that convert objects between versions.

// [convert]

kopf.on.convert("widgets.example.com", { from: "v1", to: "v2" }, function toV2({ body }) {
  const { size: replicas, ...spec } = body.spec ?? {};
  return { ...body, spec: { ...spec, replicas } };
});

kopf.on.convert("widgets.example.com", { from: "v2", to: "v1" }, function toV1({ body }) {
  const { replicas: size, ...spec } = body.spec ?? {};
  return { ...body, spec: { ...spec, size } };
});

// [/convert]
