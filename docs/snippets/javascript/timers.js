// Handlers that are called again and again.

// [interval]

kopf.timer("kopfexamples", { interval: 60 }, function ping({ started, patch }) {
  patch.status.pinged = started.toISOString();
});

// [/interval]

function touch() {}

// [options]

kopf.timer("kopfexamples", { id: "sharp", interval: 60, sharp: true }, touch);
kopf.timer("kopfexamples", { id: "idle", interval: 60, idle: 10 }, touch);
kopf.timer("kopfexamples", { id: "late", interval: 60, initial_delay: 5 }, touch);

// [/options]
