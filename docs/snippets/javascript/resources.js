// How handlers select resources.

function seen() {}

// [names]

kopf.on.event("kopfexamples", seen); // by the plural name, the kind,
kopf.on.event("KopfExample", seen); // the singular name, or a short name
kopf.on.event("kopfexamples.kopf.dev", seen); // with the group
kopf.on.event("kopfexamples.v1.kopf.dev", seen); // with the version and the group

// [/names]

// [parts]

kopf.on.event("kopf.dev", "v1", "kopfexamples", seen);
kopf.on.event("kopf.dev/v1", "kopfexamples", seen);
kopf.on.event("kopf.dev", "kopfexamples", seen);
kopf.on.event("", "v1", "pods", seen); // the core API
kopf.on.event("v1", "pods", seen); // the same

// [/parts]

// [selector]

kopf.on.event({ group: "kopf.dev", kind: "KopfExample" }, seen);
kopf.on.event({ category: "all" }, seen);

// [/selector]

// [everything]

kopf.on.event(kopf.EVERYTHING, seen);
kopf.on.event("kopf.dev", kopf.EVERYTHING, seen);

// [/everything]

// [function]

kopf.on.event((resource) => resource.namespaced && resource.group === "kopf.dev", seen);

// [/function]
