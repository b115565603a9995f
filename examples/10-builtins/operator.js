// Handles pods: deletes those whose lifetime, an annotation in seconds, is over.

kopf.wants({ kubernetes: [{ groups: [""], resources: ["pods"], verbs: ["delete"] }] });

const lifetime = "example.com/lifetime";

/** @param {kopf.Change} kwargs */
function pod_in_sight({ patch }) {
  patch.labels["example.com/seen"] = "yes";
}

kopf.on.resume("pods", pod_in_sight);
kopf.on.create("pods", pod_in_sight);

kopf.daemon("pods", { annotations: { [lifetime]: kopf.PRESENT } }, async function pod_killer({ name, namespace, annotations, stopped, logger }) {
  if (await stopped.wait(Number(annotations[lifetime]))) {
    logger.info("deleted before its time");
    return;
  }
  await kopf.kubernetes.delete(`/api/v1/namespaces/${namespace}/pods/${name}`);
  logger.info("its time is over");
});
