// Checks and completes objects before they are stored.

kopf.on.validate("websites.example.com", { id: "check-replicas" }, ({ spec, warnings }) => {
  if (spec.replicas > 10) throw new kopf.AdmissionError("there can be at most 10 replicas", 422);
  if (spec.replicas === 0) warnings.push("no replica will serve this website");
});

kopf.on.mutate("websites.example.com", { id: "fill-in", operations: ["CREATE", "UPDATE"] }, ({ spec, patch, userinfo }) => {
  if (spec.replicas === undefined) patch.spec.replicas = 2;
  patch.labels["example.com/requested-by"] = userinfo.username;
});
