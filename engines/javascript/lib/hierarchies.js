// Children of the handled object. Objects are given alone or in lists, and are changed
// in place. Options: owner, a body, by default that of the handled object; the others
// are those of the reference.

import { known } from "kopf/declarations";
import { PermanentError } from "kopf/errors";
import { here } from "kopf/tasks";

const each = (objs, edit) => [objs].flat(Infinity).forEach(edit);
const NAMES = ["owner", "controller", "blockOwnerDeletion", "name", "forced", "strict", "namespace", "labels", "nested"]; // adopt hands on all
const set = (value) => value !== undefined && value !== null && value !== "";

function bodyOf({ owner }) {
  const body = owner ?? here().kwargs?.body;
  if (!body?.metadata) throw new PermanentError("there is no owner: the handler has no object");
  return body;
}

// adopt makes objects children: references, names, namespace, and labels.
export function adopt(objs, options = {}) {
  appendOwnerReference(objs, options);
  harmonizeNaming(objs, options);
  adjustNamespace(objs, options);
  label(objs, undefined, options);
}

// appendOwnerReference adds the owner, unless it is there. Flags that are null are left out.
export function appendOwnerReference(objs, options = {}) {
  known("kopf.appendOwnerReference", options, NAMES);
  const { controller = true, blockOwnerDeletion = true } = options;
  const { apiVersion, kind, metadata: { name, uid } } = bodyOf(options);
  const reference = { apiVersion, kind, name, uid };
  if (controller !== null) reference.controller = controller;
  if (blockOwnerDeletion !== null) reference.blockOwnerDeletion = blockOwnerDeletion;
  each(objs, (obj) => {
    const owners = ((obj.metadata ??= {}).ownerReferences ??= []);
    if (!owners.some((other) => other.uid === uid)) owners.push({ ...reference }); // children must not share it
  });
}

// removeOwnerReference takes the owner away.
export function removeOwnerReference(objs, options = {}) {
  known("kopf.removeOwnerReference", options, NAMES);
  const { uid } = bodyOf(options).metadata;
  each(objs, (obj) => {
    const meta = (obj.metadata ??= {});
    meta.ownerReferences = (meta.ownerReferences ?? []).filter((other) => other.uid !== uid);
  });
}

// label sets labels, by default those of the owner; those that are there stay, unless
// forced. The objects at the paths in nested get them too, where they exist: one path with
// dots, or a list of paths, each with dots or a list of its keys.
export function label(objs, labels, options = {}) {
  known("kopf.label", options, NAMES);
  const { forced = false, nested = [] } = options;
  const wanted = labels ?? options.labels ?? bodyOf(options).metadata.labels ?? {};
  const add = (within) => {
    const present = ((within.metadata ??= {}).labels ??= {});
    for (const [key, value] of Object.entries(wanted)) if (forced || !Object.hasOwn(present, key)) present[key] = value;
  };
  each(objs, (obj) => {
    add(obj);
    for (const path of [].concat(nested)) {
      const keys = typeof path === "string" ? path.split(".") : path;
      const template = keys.reduce((at, key) => (Object.hasOwn(at ?? {}, key) ? at[key] : undefined), obj);
      if (template) add(template);
    }
  });
}

// harmonizeNaming names objects by the owner: exactly if strict, or with a suffix that the server chooses.
export function harmonizeNaming(objs, options = {}) {
  known("kopf.harmonizeNaming", options, NAMES);
  const { forced = false, strict = false } = options;
  const name = options.name ?? bodyOf(options).metadata.name;
  if (!set(name)) throw new PermanentError("the owner has no name: set one");
  each(objs, (obj) => {
    const meta = (obj.metadata ??= {});
    if ((set(meta.name) || set(meta.generateName)) && !forced) return;
    delete meta.name;
    delete meta.generateName;
    if (strict) meta.name = name;
    else meta.generateName = `${name}-`;
  });
}

// adjustNamespace puts objects into the namespace of the owner, unless they are in one.
export function adjustNamespace(objs, options = {}) {
  known("kopf.adjustNamespace", options, NAMES);
  const { forced = false } = options;
  const namespace = options.namespace !== undefined ? options.namespace : bodyOf(options).metadata.namespace ?? null;
  each(objs, (obj) => {
    const meta = (obj.metadata ??= {});
    if (forced || !set(meta.namespace)) meta.namespace = namespace;
  });
}
