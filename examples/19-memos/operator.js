// Things that are remembered between calls, without writing them to the cluster.

kopf.on.startup(function prepare({ memo }) {
  memo.set("greeting", "hello"); // the memo of each object begins as a copy of this one
});

kopf.on.event("kopfexamples", function count({ memo }) {
  memo.update("events", (events) => (events ?? 0) + 1);
});

kopf.timer("kopfexamples", { interval: 3 }, function report({ memo, logger }) {
  logger.info(`${memo.get("greeting")} events=${memo.get("events")}`);
});
