// Gives each EphemeralVolumeClaim a PersistentVolumeClaim, and shows in its status what
// becomes of it.

kopf.operator({ name: "volumes", version: "1.0" });
kopf.wants({
  kubernetes: [
    { groups: [""], resources: ["persistentvolumeclaims"], verbs: ["patch"] },
    { groups: ["example.com"], resources: ["ephemeralvolumeclaims"], verbs: ["patch"] },
  ],
});

const claimOf = "ephemeralvolumeclaims.example.com/claim-of"; // a label

/**
 * It can be repeated: the claim is created, adopted if it is there already, or changed. The
 * cluster deletes it with its owner.
 * @param {kopf.Change} kwargs
 */
async function applyClaim({ spec, name, namespace, labels }) {
  if (!spec.size) throw new kopf.PermanentError("a volume needs a size");
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, labels: { ...labels, [claimOf]: name } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: spec.size } } },
  };
  kopf.adopt(claim);
  const applied = await kopf.kubernetes.apply(`/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`, claim);
  return { claim: applied.metadata.name };
}

kopf.on.create("ephemeralvolumeclaims", applyClaim);
kopf.on.update("ephemeralvolumeclaims", applyClaim);

// Called when a claim changes, or comes into sight at the start.
kopf.on.event("persistentvolumeclaims", { labels: { [claimOf]: kopf.PRESENT } }, async function reportPhase({ type, labels, status, namespace }) {
  if (type === "DELETED" || !status?.phase) return;
  const path = `/apis/example.com/v1/namespaces/${namespace}/ephemeralvolumeclaims/${labels[claimOf]}`;
  try {
    await kopf.kubernetes.patch(path, { status: { phase: status.phase } });
  } catch (error) {
    if (!(error instanceof kopf.APIError) || error.status !== 404) throw error; // it is gone, and the claim will follow
  }
});
