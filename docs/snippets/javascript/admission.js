// Handlers that the API server asks before it stores objects.

// [handlers]

kopf.on.validate("kopfexamples", { id: "check-size" }, ({ spec, warnings }) => {
  if (spec.size < 0) throw new kopf.AdmissionError("the size cannot be negative", 422);
  if (spec.size > 100) warnings.push("large ones take long");
});

kopf.on.mutate("kopfexamples", { id: "fill-in", operation: "CREATE" }, ({ spec, patch }) => {
  if (!("size" in spec)) patch.spec.size = 1;
});

// [/handlers]

// [options]

kopf.on.validate("kopfexamples", {
  id: "review-deletion",
  operation: "DELETE",
  labels: { protected: "yes" },
  persistent: true,
}, ({ userinfo }) => {
  if (userinfo.username !== "system:admin") {
    throw new kopf.AdmissionError("only administrators delete protected objects", 403);
  }
});

// [/options]

// [settings]

kopf.on.startup(function configure({ settings }) {
  settings.admission.server = { type: "server", port: 9443 };
  settings.admission.managed = "my-operator.example.com";
});

// [/settings]
