// [operator]

// Begins memberships when they are paid, and renews them.

kopf.on.create("memberships", { timeout: 86_400 }, function begin({ spec, meta, logger }) {
  if (!(spec.days > 0)) throw new kopf.PermanentError("a membership needs a number of days");
  if (!spec.paid) throw new kopf.TemporaryError("it is not paid yet", 5);
  logger.info(`welcome member=${spec.member}`);
  return { expires: expiry(meta, spec.days) };
});

/**
 * It counts from the creation of the object.
 * @param {kopf.Meta} meta
 * @param {number} days
 */
function expiry(meta, days) {
  const date = new Date(meta.creationTimestamp ?? Date.now());
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

kopf.on.field("memberships", { field: "spec.days" }, function renew({ reason, old, new: days, meta, patch, logger }) {
  if (reason !== "update") return; // field handlers are called for creations too
  logger.info(`renewed from=${old} to=${days}`);
  patch.merge({ status: { begin: { expires: expiry(meta, days) } } });
});

kopf.on.delete("memberships", function end({ spec, logger }) {
  logger.info(`goodbye member=${spec.member}`);
});

// [/operator]
