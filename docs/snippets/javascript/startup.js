// Handlers for the beginning and the end of an operator.

// [startup]

kopf.on.startup({ retries: 3 }, function configure({ settings }) {
  if (!kopf.config("region")) throw new kopf.PermanentError("run it with --config region=NAME");
  settings.execution.default_backoff = 10;
});

// [/startup]

// [cleanup]

kopf.on.cleanup(function goodbye({ logger }) {
  logger.info("the operator ends");
});

// [/cleanup]

// [variables]

let region = "";

kopf.on.startup(function remember() {
  region = kopf.config("region") ?? "anywhere";
});

kopf.on.create("kopfexamples", function place({ patch }) {
  patch.spec.region = region;
});

// [/variables]

// [setup]

const kind = kopf.config("resource");
if (!kind) throw new Error("run it with --config resource=NAME");

kopf.on.create(kind, function create() {});

// [/setup]
