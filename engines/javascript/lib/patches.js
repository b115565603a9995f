// Changes of the handled object.

const PARTS = ["spec", "status", "metadata"];

// Patch collects changes: patch.status.x = 1, patch.labels["a/b"] = null. What has no
// part of its own is set unchanged: patch.data = {...}.
export class Patch {
  #root = {};
  #edits = [];

  get spec() { return this.#root.spec ??= {}; }
  set spec(value) { this.#root.spec = value; }
  get status() { return this.#root.status ??= {}; }
  set status(value) { this.#root.status = value; }
  get metadata() { return this.#root.metadata ??= {}; }
  set metadata(value) { this.#root.metadata = value; }
  get meta() { return this.metadata; }
  set meta(value) { this.metadata = value; }
  get labels() { return this.metadata.labels ??= {}; }
  set labels(value) { this.metadata.labels = value; }
  get annotations() { return this.metadata.annotations ??= {}; }
  set annotations(value) { this.metadata.annotations = value; }

  // merge merges values into the patch.
  merge(values) {
    for (const [key, value] of Object.entries(values)) {
      if (PARTS.includes(key)) this.#root[key] = merged(this.#root[key], value);
      else this[key] = merged(this[key], value);
    }
  }

  // edit adds a function that changes the object in place, or returns another one. It
  // is called again if another client has changed the object meanwhile.
  edit(fn) { this.#edits.push(fn); }

  // changes is what was collected, without parts that were only looked at.
  static changes(patch) {
    const root = { ...patch.#root, ...patch };
    if (isMap(root.metadata)) root.metadata = { ...root.metadata }; // the handler may go on with its own
    for (const part of ["labels", "annotations"]) if (empty(root.metadata?.[part])) delete root.metadata[part];
    for (const part of PARTS) if (empty(root[part])) delete root[part];
    return { patch: root, edits: patch.#edits };
  }
}

const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const empty = (value) => isMap(value) && Object.keys(value).length === 0;

// merged is a patch that means one patch, and then another one.
export function merged(into, values) {
  if (!isMap(values) || !isMap(into)) return values;
  const out = { ...into };
  for (const [key, value] of Object.entries(values)) out[key] = merged(out[key], value);
  return out;
}

// difference is the part of a patch that an earlier state of it does not have.
export function difference(patch, before) {
  const late = {};
  for (const [key, value] of Object.entries(patch)) {
    if (isMap(value) && isMap(before[key])) {
      const inner = difference(value, before[key]);
      if (!empty(inner)) late[key] = inner;
    } else if (!Object.hasOwn(before, key) || JSON.stringify(value) !== JSON.stringify(before[key])) late[key] = value;
  }
  return late;
}
