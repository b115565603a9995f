// How handlers reach Kubernetes and other servers.

// [want]

kopf.operator({ name: "archiver", version: "1.0" });
kopf.wants({
  kubernetes: [{
    groups: [""],
    resources: ["configmaps", "pods"],
    verbs: ["get", "list", "create", "patch", "delete"],
  }],
  http: ["api.example.com"],
});

// [/want]

// [client]

kopf.on.create("kopfexamples", async function create({ spec, name, namespace }) {
  const archive = {
    apiVersion: "v1", kind: "ConfigMap",
    metadata: { name: `${name}-archive` },
    data: { spec: JSON.stringify(spec) },
  };
  kopf.adopt(archive);
  const made = await kopf.kubernetes.apply(`/api/v1/namespaces/${namespace}/configmaps/${name}-archive`, archive);
  return { archive: made.metadata.name };
});

// [/client]

// [list]

/** @param {kopf.Change} kwargs */
async function busy({ name, namespace }) {
  const selector = encodeURIComponent(`app=${name}`);
  const pods = await kopf.kubernetes.get(`/api/v1/namespaces/${namespace}/pods?labelSelector=${selector}`);
  return pods.items.map((/** @type {kopf.Body} */ pod) => pod.metadata.name);
}

// [/list]

kopf.on.resume("kopfexamples", busy);

// [errors]

kopf.on.delete("kopfexamples", async function remove({ name, namespace }) {
  try {
    await kopf.kubernetes.delete(`/api/v1/namespaces/${namespace}/configmaps/${name}-archive`);
  } catch (err) {
    if (!(err instanceof kopf.APIError)) throw err;
    if (err.reason === "NotFound") return; // as well
    if (err.reason === "Conflict") throw new kopf.TemporaryError("another writer has just changed it", 1);
    throw err;
  }
});

// [/errors]

// [fetch]

kopf.on.update("kopfexamples", async function update({ name, spec }) {
  const response = await kopf.fetch("https://api.example.com/v1/archives", {
    method: "POST",
    headers: { Authorization: `Bearer ${kopf.config("token")}` },
    body: { name, spec },
    timeout: 5,
  });
  if (!response.ok) throw new kopf.TemporaryError("the archive is closed", 60);
  return { id: (await response.json()).id };
});

// [/fetch]
