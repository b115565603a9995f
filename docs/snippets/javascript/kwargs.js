// What handlers get.

// [views]

kopf.on.create("kopfexamples", function views({ spec, labels, annotations, logger }) {
  const size = spec.volumes?.[0]?.size ?? 0; // 0 if any step is missing
  if ("paused" in spec && labels.tier !== "test") {
    logger.info(`paused size=${size}`);
  }
  for (const [name, value] of Object.entries(annotations)) {
    logger.debug(`annotation name=${name} value=${value}`);
  }
});

// [/views]

// [decode]

/** @typedef {{ size: number, zones?: string[] }} VolumeSpec */

/** @param {kopf.Change<VolumeSpec>} kwargs */
function typed({ spec, logger }) {
  if (!Number.isInteger(spec.size)) throw new kopf.PermanentError("spec.size: want an integer");
  logger.info(`${spec.size} GB in ${spec.zones?.length ?? 0} zones`);
}

kopf.on.update("kopfexamples", typed);

// [/decode]
