// Converts objects between two versions of their resource: v1 has a size in words, v2
// has a number of gigabytes.

/** @type {Record<string, number>} */
const sizes = { small: 10, medium: 100, large: 1000 };

// A number that v1 has no word for survives the way back.
const odd = "example.com/gigabytes";

kopf.on.convert("databases.data.example.com", { id: "to-number", from: "v1", to: "v2" }, ({ body }) => {
  const { size, ...spec } = body.spec ?? {};
  if (size === undefined) return body; // such as an object that was stored before the conversion
  const { [odd]: kept, ...annotations } = body.metadata.annotations ?? {};
  const gigabytes = size === "custom" ? Number(kept) : sizes[size];
  if (!Number.isFinite(gigabytes)) throw new kopf.PermanentError(`unknown size ${size}`);
  return { ...body, metadata: { ...body.metadata, annotations }, spec: { ...spec, gigabytes } };
});

kopf.on.convert("databases.data.example.com", { id: "to-words", from: "v2", to: "v1" }, ({ body }) => {
  const { gigabytes, ...spec } = body.spec ?? {};
  if (gigabytes === undefined) return body;
  const word = Object.keys(sizes).find((size) => sizes[size] === gigabytes);
  if (word) return { ...body, spec: { ...spec, size: word } };
  const annotations = { ...body.metadata.annotations, [odd]: String(gigabytes) };
  return { ...body, metadata: { ...body.metadata, annotations }, spec: { ...spec, size: "custom" } };
});
