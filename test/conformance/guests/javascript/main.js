// An operator that takes its handlers from a conformance case, as those in Go and Rust
// do. README.md of the conformance cases describes the vocabulary.

const which = kopf.config("KOPF_CASE_OPERATOR") ?? "main";
const kase = JSON.parse(kopf.config("KOPF_CASE_JSON_TEXT"));
const spec = which === "main" ? kase.operator : kase.operators[which];

// How long a function in a thread takes to come back to the event loop after the stop
// signal, in seconds: another cycle of the loop handles the object meanwhile.
const THREAD_HOP = 0.1;

// emit prints a line.
const emit = (record) => print(JSON.stringify(which === "main" ? record : { ...record, operator: which }));

// --- values ---

const equal = (a, b) => {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object" || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && equal(a[key], b[key]));
};

// contains is Python's "in", for lists, maps and texts.
const contains = (container, value) => {
  if (Array.isArray(container)) return container.some((item) => equal(item, value));
  if (typeof container === "string") return typeof value === "string" && container.includes(value);
  return typeof container === "object" && container !== null && value in container;
};

// repr is the representation of a value in Python.
const repr = (value) => {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return value.includes("'") && !value.includes('"') ? `"${value}"` : `'${value.replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([key, item]) => `'${key}': ${repr(item)}`).join(", ")}}`;
  return String(value);
};

const sorted = (values) => values.map((value) => [repr(value), value]).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, value]) => value);

// --- filters ---

// How the reference shows the absent value of a field to its callbacks: a marker that is
// not None, and equals nothing. For labels and annotations, it is None.
const UNSET = "<_UNSET>";

// filtered is a marker, a function, or a value; single makes the functions.
const filtered = (filter, single) => {
  if (filter?.$ === "PRESENT") return kopf.PRESENT;
  if (filter?.$ === "ABSENT") return kopf.ABSENT;
  if (filter?.$fn === undefined) return filter;
  const parts = [].concat(filter.arg ?? []).filter((item) => item?.$fn !== undefined).map((item) => filtered(item, single));
  switch (filter.$fn) {
    case "not": return kopf.not(parts[0]);
    case "all": return kopf.all(parts);
    case "any": return kopf.any(parts);
    case "none": return kopf.none(parts);
  }
  return single(filter);
};

const check = (ofField) => ({ $fn: name, arg, log }) => (given) => {
  const unset = ofField && given === undefined;
  const value = unset ? UNSET : given ?? null;
  if (log !== undefined) emit({ callback: name, value, kwargs: null });
  if (unset) return ["ne", "broken_if", "true"].includes(name);
  switch (name) {
    case "eq": return equal(value, arg);
    case "ne": return !equal(value, arg);
    case "in": return contains(arg, value);
    case "gt": return typeof value === "number" && value > arg;
    case "is_none": return value === null;
    case "is_str": return typeof value === "string";
    case "true": case "false": return name === "true";
    case "broken_if":
      if (equal(value, arg)) throw new Error("a broken filter");
      return true;
  }
  throw new Error(`unknown callback: ${name}`);
};

const when = ({ $fn: name, arg, log, tag }) => (kwargs) => {
  if (log !== undefined) emit({ callback: name, when: tag });
  switch (name) {
    case "spec_eq": return equal(kwargs.spec[arg[0]] ?? null, arg[1]);
    case "has_spec": return arg in kwargs.spec;
    case "name_eq": return kwargs.name === arg;
    case "reason_is": return kwargs.reason === arg;
    case "event_type_is": return kwargs.type === arg;
    case "operation_is": return kwargs.operation === arg;
    case "true": case "false": return name === "true";
  }
  throw new Error(`unknown callback: ${name}`);
};

// --- settings ---

const storage = ({ storage: type, storages, ...rest }) => (type === "multi" ? storages.map(storage) : { type, ...rest });
const LEVELS = { DEBUG: 10, INFO: 20, WARNING: 30, ERROR: 40 };

const configure = (settings, values) => {
  for (const [name, value] of Object.entries(values ?? {})) {
    if (name === "admission.server" || name === "admission.managed") continue; // the host sets these, not the guest
    if (name.endsWith("_storage")) settings[name] = storage(value);
    else settings[name] = name === "posting.level" ? LEVELS[value] ?? value : value;
  }
};

// --- lines of invocations ---

const ACTIVITIES = ["startup", "cleanup", "probe", "login"];

const describe = (kind, handler, k) => {
  const record = { handler: k.id, retry: k.retry };
  if (k.param !== null) record.param = k.param;
  if (!ACTIVITIES.includes(kind)) Object.assign(record, { name: k.name || null, namespace: k.namespace });
  if (kind === "validate" || kind === "mutate") {
    const { operation, subresource, dryrun, userinfo, headers } = k;
    const diff = k.diff.filter(([, path]) => path[0] === "spec");
    const names = Object.keys(headers).map((name) => name.toLowerCase()).filter((name) => name === "content-type" || name === "accept");
    delete record.retry;
    Object.assign(record, { operation: operation ?? null, subresource, dryrun, user: userinfo?.username ?? null, old_spec: k.old?.spec ?? null, new_spec: k.new?.spec ?? null });
    Object.assign(record, { diff: sorted(diff), headers: names.sort() });
  } else if (ACTIVITIES.includes(kind)) record.activity = k.activity;
  else if (["event", "timer", "daemon", "index"].includes(kind)) record.spec = k.spec;
  else Object.assign(record, { reason: k.reason, old: k.old, new: k.new, diff: sorted(k.diff) });
  if (kind === "event") record.type = k.type;
  for (const field of handler.log ?? []) {
    const value = logged(field, kind, k);
    if (value !== undefined) record[field] = value;
  }
  return record;
};

const logged = (field, kind, k) => {
  switch (field) {
    case "runtime": return Math.round(k.runtime);
    case "memo": return k.memo.get("memo") ?? {};
    case "finalizers": return k.meta.finalizers ?? [];
    case "annotations": case "labels": case "body": case "meta": case "spec": case "status": case "uid":
      return ACTIVITIES.includes(kind) ? undefined : k[field];
    case "resource": {
      const { group, version, plural, kind, singular, namespaced, preferred, shortcuts = [], categories = [], subresources = [] } = k.resource;
      return {
        group, version, plural, kind: kind ?? null, singular: singular ?? null, namespaced, preferred,
        shortcuts: shortcuts.sort(), categories: categories.sort(), subresources: subresources.sort(),
      };
    }
  }
  return undefined;
};

// --- scripts ---

class ValueError extends Error {}

// RETURN ends a script: its value is the result.
const RETURN = Symbol("return");

class Run {
  constructor(kind, handler, k) {
    Object.assign(this, { kind, handler, k, calls: 0 });
  }

  mark(mark, more = {}) { emit({ mark, handler: this.k.id, name: this.k.name ?? null, ...more }); }

  // handle prints the line of the invocation, and runs the script.
  async handle() {
    const line = describe(this.kind, this.handler, this.k);
    if (JSON.stringify(this.handler.do ?? []).includes('"calls_lt"')) {
      const key = `calls ${this.k.id} ${this.k.namespace}/${this.k.name}`;
      this.calls = kopf.memo.update(key, (old) => (old ?? 0) + 1) - 1;
    }
    if (!this.handler.silent) emit(line);
    const returned = await this.script(this.handler.do ?? []);
    return returned?.[RETURN];
  }

  async script(ops) {
    for (const op of ops) {
      if (op.if) {
        const returned = await this.script((this.holds(op.if) ? op.do : op.else) ?? []);
        if (returned) return returned;
        continue;
      }
      for (const [name, arg] of Object.entries(op)) {
        if (name === "return") return { [RETURN]: arg };
        if (name === "login") return { [RETURN]: { login: this.k.logins.find((login) => login === "kubeconfig") } };
        await this.perform(name, arg);
      }
    }
    return undefined;
  }

  holds(condition) {
    const { k } = this;
    const checks = {
      retry_lt: (n) => k.retry < n, calls_lt: (n) => this.calls < n, name_is: (name) => k.name === name,
      reason_is: (reason) => k.reason === reason, type_is: (type) => k.type === type, activity_is: (activity) => k.activity === activity,
      operation_is: (operation) => k.operation === operation, spec_is: ([key, value]) => equal(k.spec[key] ?? null, value), spec_has: (key) => key in k.spec,
    };
    return Object.entries(condition).every(([name, want]) => checks[name](want));
  }

  async perform(name, arg) {
    switch (name) {
      case "temporary": throw new kopf.TemporaryError(arg.msg, arg.delay);
      case "permanent": throw new kopf.PermanentError(arg.msg);
      case "arbitrary": throw new ValueError(arg.msg);
      case "arbitrary_empty": throw new ValueError();
      case "admission_error": throw new kopf.AdmissionError(arg.msg, arg.code);
      case "sleep": return kopf.sleep(arg);
      case "loop": return this.loop(arg);
      case "stubborn": return this.stubborn(arg);
      case "immortal": return this.immortal(arg);
      case "subhandlers": return this.subhandlers(arg);
      case "settings": return configure(this.k.settings, arg);
    }
    return this.effect(name, arg);
  }

  effect(name, arg) {
    const { k } = this;
    switch (name) {
      case "mark": return this.mark(arg);
      case "log": return k.logger[arg.level ?? "info"](arg.msg);
      case "memo": return k.memo.update("memo", (memo) => ({ ...memo, ...arg }));
      case "memo_count": return k.memo.update("memo", (memo) => ({ ...memo, [arg]: (memo?.[arg] ?? 0) + 1 }));
      case "admission_warning": return k.warnings.push(arg);
      case "dump_index": return this.dump(arg);
      case "hierarchy": return this.hierarchy(arg);
      case "event": return kopf.event(k.body, arg);
      case "info": return kopf.info(k.body, arg);
      case "warn": return kopf.warn(k.body, arg);
      case "exception": return this.exception(arg);
      case "patch": return k.patch.merge(arg);
      case "patch_meta": return k.patch.merge({ metadata: arg });
      case "patch_status": return Object.assign(k.patch.status, arg);
      case "patch_spec": return Object.assign(k.patch.spec, arg);
      case "patch_annotations": return Object.assign(k.patch.annotations, arg);
      case "patch_labels": return Object.assign(k.patch.labels, arg);
      case "edit": return k.patch.edit((body) => arg.forEach((op) => edit(body, op)));
    }
    throw new kopf.PermanentError(`unknown op: ${name}`);
  }

  exception({ exc = "boo", ...options }) {
    kopf.exception(this.k.body, { ...options, error: new ValueError(exc) });
  }

  dump(names) {
    for (const name of names) {
      const content = {};
      for (const [key, values] of this.k.indices[name]) content[JSON.stringify(key)] = sorted(values);
      emit({ index: name, content });
    }
  }

  hierarchy({ objs, calls }) {
    const fns = {
      adopt: kopf.adopt, append_owner_reference: kopf.appendOwnerReference, remove_owner_reference: kopf.removeOwnerReference,
      label: (objs, options) => kopf.label(objs, undefined, options), harmonize_naming: kopf.harmonizeNaming, adjust_namespace: kopf.adjustNamespace,
    };
    for (const { fn, kwargs = {} } of calls) {
      const { block_owner_deletion: blockOwnerDeletion, ...options } = kwargs;
      fns[fn](objs, { ...options, ...("block_owner_deletion" in kwargs ? { blockOwnerDeletion } : {}) });
    }
    emit({ hierarchy: calls.map(({ fn }) => fn), objs });
  }

  // loop is a daemon that behaves well.
  async loop({ interval = 0.2, mark, times = Infinity }) {
    const { k } = this;
    for (let n = 1; !k.stopped(); n++) {
      if (mark !== undefined) this.mark(mark, { spec: k.spec });
      if (n >= times) break;
      await k.stopped.wait(interval);
      if (k.stopped() && this.handler.sync) await kopf.sleep(THREAD_HOP);
    }
    if (!k.stopped()) return this.mark("finished", { stop_reason: null });
    return this.mark("stopped", { stop_reason: k.stopped.reasons().map((reason) => reason.toUpperCase()).sort() });
  }

  // stubborn ignores the stopping, and reports the cancellation.
  async stubborn(seconds) {
    try {
      await kopf.sleep(seconds);
    } catch (error) {
      this.mark("cancelled");
      throw error;
    }
    this.mark("overslept");
  }

  // immortal ignores even the cancellation.
  async immortal(seconds) {
    for (let left = seconds; left > 0; left -= 0.2) {
      try {
        await kopf.sleep(Math.min(0.2, left));
      } catch {
        this.mark("cancellation ignored");
      }
    }
    this.mark("overslept");
  }

  async subhandlers({ via = "decorator", list }) {
    const now = list.map((given) => [given, (k) => new Run("sub", given, k).handle()]);
    switch (via) {
      case "execute-list": {
        const named = now.map(([{ name }, fn]) => Object.defineProperty(fn, "name", { value: name ?? "fn" }));
        return kopf.execute(named);
      }
      case "execute-dict": return kopf.execute(Object.fromEntries(now.map(([{ id, name }, fn]) => [id ?? name, fn])));
    }
    for (const [given, fn] of now) kopf.subhandler({ id: given.name ?? "fn", ...options(given) }, fn);
    if (via === "execute-registered") {
      await kopf.execute();
      this.mark("after execute");
    }
    return undefined;
  }
}

// edit changes a body in place.
const edit = (body, { do: how, path, value }) => {
  const target = path.slice(0, -1).reduce((at, key) => (at[key] ??= {}), body);
  const last = path.at(-1);
  switch (how) {
    case "set": target[last] = value; break;
    case "append": (target[last] ??= []).push(value); break;
    case "remove": delete target[last]; break;
    case "remove_value": target[last] = (target[last] ?? []).filter((item) => !equal(item, value)); break;
  }
};

// --- registration ---

const OPTIONS = ["id", "param", "errors", "timeout", "retries", "backoff", "optional", "deleted", "interval", "sharp", "idle",
  "cancellation_backoff", "cancellation_timeout", "cancellation_polling", "operation", "operations", "subresource",
  "persistent", "side_effects", "ignore_failures", "field"];

// options are those of a decorator. What is null is not said; what is no option is not looked at.
const options = (given) => {
  const made = {};
  for (const [name, value] of Object.entries(given).filter(([, value]) => value !== null)) {
    if (OPTIONS.includes(name)) made[name] = value;
    else if (["value", "old", "new"].includes(name)) made[name] = filtered(value, check(true));
    else if (name === "when") made[name] = filtered(value, when);
    else if (name === "labels" || name === "annotations") {
      made[name] = Object.fromEntries(Object.entries(value).map(([key, filter]) => [key, filtered(filter, check(false))]));
    } else if (name === "initial_delay") {
      made[name] = typeof value === "number" ? value : () => {
        emit({ callback: "initial_delay" });
        return value.delay;
      };
    }
  }
  return made;
};

// selector is a resource in any notation: arguments, and options.
const selector = (resource) => {
  if (resource === undefined || resource === null) return [[], {}];
  if (typeof resource === "string") return [[resource], {}];
  if (Array.isArray(resource)) return [resource.map((part) => (typeof part === "string" ? part : kopf.EVERYTHING)), {}];
  if (resource.everything === true) return [[kopf.EVERYTHING], {}];
  if (resource.everything_in) return [[...resource.everything_in, kopf.EVERYTHING], {}];
  if (resource.where) return [[({ group }) => group === resource.where.group], {}];
  return [[], resource];
};

if (spec?.lifecycle) kopf.operator({ lifecycle: spec.lifecycle });
kopf.on.startup({ id: "__configure__" }, ({ settings }) => configure(settings, spec.settings));

for (const handler of spec?.handlers ?? []) {
  const functions = new Map(); // one of each kind: the same function is called once
  for (const decorator of handler.decorators) {
    const kind = decorator.type;
    const shape = ["create", "update", "delete", "resume", "field"].includes(kind) ? "change" : kind;
    if (!functions.has(shape)) functions.set(shape, (k) => new Run(kind, handler, k).handle());
    const [args, parts] = selector(decorator.resource);
    const declare = kopf.on[kind] ?? kopf[kind];
    declare(...args, { id: handler.name ?? "fn", ...options(decorator), ...parts }, functions.get(shape));
  }
}
