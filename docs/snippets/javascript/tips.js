// Patterns of several features.

// [never-again]

const done = "example.com/migrated";

kopf.on.resume("kopfexamples", { annotations: { [done]: kopf.ABSENT } }, function migrate({ patch }) {
  patch.annotations[done] = "yes"; // excludes the handler from now on, also after restarts
});

// [/never-again]
