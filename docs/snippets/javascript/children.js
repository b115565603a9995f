// How an operator keeps children of its objects.

// [card]

kopf.wants({ kubernetes: [{ groups: [""], resources: ["configmaps"], verbs: ["create", "patch"] }] });

/** @param {kopf.Change} kwargs */
async function card({ name, namespace, spec }) {
  const child = {
    apiVersion: "v1", kind: "ConfigMap",
    metadata: { name: `${name}-card` },
    data: { member: spec.member },
  };
  kopf.adopt(child);
  const applied = await kopf.kubernetes.apply(`/api/v1/namespaces/${namespace}/configmaps/${name}-card`, child);
  return applied.metadata.name;
}

kopf.on.create("memberships", card);
kopf.on.update("memberships", card);
kopf.on.resume("memberships", card);

// [/card]
