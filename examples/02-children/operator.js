// Gives each EphemeralVolumeClaim a PersistentVolumeClaim, and shows in its status what becomes
// of it.

const CLAIM_OF = "ephemeralvolumeclaims.example.com/claim-of"; // a label

kopf.operator({ name: "volumes", version: "1.0" });
kopf.wants({
  kubernetes: [
    { groups: [""], resources: ["persistentvolumeclaims"], verbs: ["create", "patch"] },
    { groups: ["example.com"], resources: ["ephemeralvolumeclaims"], verbs: ["patch"] },
  ],
});

// It can be repeated: the claim is created, adopted if it exists already, or changed. The
// cluster deletes it with its owner.
/** @param {kopf.Change} kwargs */
async function applyClaim({ spec, name, namespace, labels }) {
  if (!spec.size) throw new kopf.PermanentError("a volume needs a size");
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, labels: { ...labels, [CLAIM_OF]: name } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: spec.size } } },
  };
  kopf.adopt(claim);
  try {
    await kopf.kubernetes.apply(`/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`, claim);
  } catch (error) {
    if (!(error instanceof kopf.APIError) || ![409, 422].includes(error.status)) throw error;
    throw new kopf.PermanentError(`the claim cannot be changed: ${error.message}`);
  }
  return { claim: name };
}

kopf.on.create("ephemeralvolumeclaims", applyClaim);
kopf.on.update("ephemeralvolumeclaims", applyClaim);

// It is called when a claim changes, and when the operator starts.
kopf.on.event("persistentvolumeclaims", { labels: { [CLAIM_OF]: kopf.PRESENT } }, async function reportPhase({ type, labels, namespace, status }) {
  if (type === "DELETED" || !status.phase) return;
  const owner = `/apis/example.com/v1/namespaces/${namespace}/ephemeralvolumeclaims/${labels[CLAIM_OF]}`;
  try {
    await kopf.kubernetes.patch(owner, { status: { phase: status.phase } });
  } catch (error) {
    if (!(error instanceof kopf.APIError) || error.status !== 404) throw error; // its claim follows it
  }
});
