// What the host remembers between calls.

// [object]

kopf.on.event("kopfexamples", function count({ memo, logger }) {
  const events = memo.update("events", (old) => (old ?? 0) + 1);
  logger.info(`events so far count=${events}`);
});

// [/object]

// [operator]

kopf.on.startup(function prepare({ memo }) {
  memo.set("greeting", "hello");
});

kopf.on.create("kopfexamples", function create({ name, memo, logger }) {
  logger.info(memo.get("greeting")); // the object's own copy
  kopf.memo.set("last", name);
});

// [/operator]
