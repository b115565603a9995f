// How handlers change the object that they handle.

// [merge]

kopf.on.create("kopfexamples", function merge({ patch }) {
  patch.status.phase = "Ready";
  patch.labels["example.com/seen"] = "yes";
  patch.annotations["example.com/draft"] = null; // deletes it
  patch.merge({ spec: { template: { replicas: 3 } }, status: { volumes: { bound: 2 } } });
});

// [/merge]

// [failing]

kopf.on.delete("kopfexamples", function fail({ patch, retry }) {
  patch.status.attempts = retry + 1; // it is stored with each attempt
  throw new kopf.TemporaryError("the backup is still running");
});

// [/failing]

// [edit]

kopf.on.update("kopfexamples", function edit({ patch }) {
  patch.edit((body) => {
    const list = (body.metadata.finalizers ??= []);
    if (!list.includes("example.com/mine")) list.push("example.com/mine");
  });
});

// [/edit]
