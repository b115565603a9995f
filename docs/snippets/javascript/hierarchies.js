// How objects become children of the handled one.

// [adopt]

kopf.on.create("kopfexamples", function create({ patch }) {
  const pod = { apiVersion: "v1", kind: "Pod" };
  kopf.adopt(pod);
  patch.status.child = pod;
});

// [/adopt]

// [options]

kopf.on.update("kopfexamples", function update({ name }) {
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", spec: { template: { spec: {} } } };
  kopf.adopt(deployment, {
    strict: true, // the owner's name, without a suffix
    labels: { "app.example.com/of": name },
    nested: "spec.template", // the pods get the labels too
  });
});

// [/options]
