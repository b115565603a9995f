// Handlers that declare others while they run.

// [sub]

kopf.on.create("kopfexamples", function create({ spec }) {
  for (const [name, volume] of Object.entries(spec.volumes ?? {})) {
    kopf.subhandler({ id: name, retries: 5 }, () => mount(volume));
  }
}); // the sub-handlers run now

// [/sub]

/** @param {any} volume */
function mount(volume) {
  return `mounted ${volume}`;
}

// [execute]

kopf.on.update("kopfexamples", async function update({ logger }) {
  await kopf.execute({ prepare, migrate }); // throws, to be called again, unless it is all done
  logger.info("both are finished"); // logged once
});

// [/execute]

function prepare() {}
function migrate() {}
