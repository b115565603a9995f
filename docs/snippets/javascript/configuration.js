// How a startup handler changes the settings.

// [settings]

kopf.on.startup(function configure({ settings }) {
  settings.queueing.worker_limit = 10;
  settings.persistence.finalizer = "example.com/finalizer";
  settings.persistence.consistency_timeout = 2;
  settings.networking.error_backoffs = [1, 2, 4, 8];
});

// [/settings]

kopf.on.startup(function storages({ settings }) {
  // [status]
  settings.persistence.progress_storage = { type: "status", field: "status.my-operator.progress" };
  settings.persistence.diffbase_storage = { type: "status", field: "status.my-operator.last-handled" };
  // [/status]

  // [multi]
  settings.persistence.progress_storage = [
    { type: "annotations", prefix: "my-operator.example.com" },
    { type: "smart" },
  ];
  // [/multi]

  // [ignored]
  settings.persistence.diffbase_storage = {
    type: "annotations",
    prefix: "my-operator.example.com",
    ignored_fields: ["spec.replicas"],
  };
  // [/ignored]
});
