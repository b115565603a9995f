// What becomes of the results of handlers.

// [results]

kopf.on.create("kopfexamples", function job() {
  return { name: "job-1" };
});

kopf.on.create("kopfexamples", { id: "volumes" }, () => 3);

kopf.on.create("kopfexamples", function nothing() {});

// [/results]
