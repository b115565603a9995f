// The page of scripts.

// [first]

kopf.on.create("kopfexamples", { retries: 3 }, async function create_fn({ spec, name, patch, logger }) {
  logger.info(`a new object: ${spec.field}`);
  await kopf.sleep(0.5);
  patch.status.seen = true;
  return { message: `hello, ${name}` };
});

// [/first]

// [types]

/** @typedef {{ greeting: string, items?: string[] }} Spec */

/** @param {kopf.Change<Spec> & { by_greeting: kopf.Index }} kwargs */
async function greet({ spec, by_greeting, patch }) {
  if (by_greeting.has(spec.greeting)) throw new kopf.PermanentError(`${spec.greeting} is taken`);
  patch.status.greeting = spec.greeting;
}

// [/types]

kopf.index("kopfexamples", { id: "by_greeting" }, ({ spec, name }) => ({ [spec.greeting]: name }));
kopf.on.update("kopfexamples", greet);
