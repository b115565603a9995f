// What a script declares: handlers, and facts about the operator.

import { EVERYTHING, declared } from "kopf/filters";
import { OPTIONS } from "kopf/options";

const KINDS = ["create", "update", "delete", "resume", "field", "event", "validate", "mutate", "convert",
  "startup", "cleanup", "login", "probe"];
const ACTIVITIES = ["startup", "cleanup", "login", "probe"];
const SELECTORS = ["group", "version", "kind", "plural", "singular", "shortcut", "category"];
const RULE = ["groups", "resources", "verbs", "namespaces"];
const FILTERS = ["value", "old", "new", "when", "initial_delay"];
// What has a form or a source of its own: see Handler.
const OTHERS = ["kind", "fn", "resource", "field", "labels", "annotations", ...FILTERS];
const PLAIN = OPTIONS.filter((name) => !OTHERS.includes(name));

const handlers = [];
const facts = { sdk: "javascript", operator: {}, shared_tasks: true }; // each task is a promise
let closed = false;

// derivedID is the id of a handler that has none. The ids of admission handlers become names of webhooks, which the
// API server accepts in lower case only: check-size for checkSize.
function derivedID(kind, name) {
  if (kind !== "validate" && kind !== "mutate") return name;
  return name.replace(/([^A-Z_])([A-Z])/g, "$1-$2").toLowerCase().replace(/^_+|_+$/g, "");
}

// Handler is a function with its declaration, and its options that are functions.
export class Handler {
  constructor(kind, fn, options, selector) {
    if (typeof fn !== "function") throw new TypeError(`${kind}: the last argument must be a function`);
    this.fn = fn;
    this.functions = {};
    this.declaration = { kind, id: derivedID(kind, fn.name || kind) };
    for (const [name, value] of Object.entries(options ?? {})) {
      if (Number.isNaN(value)) throw new TypeError(`${kind}: the option ${name} is NaN`); // JSON has null for it, which is no option
      if (value !== undefined) this.option(kind, snake(name), name, value);
    }
    if (selector) this.declaration.resource = this.select(kind, selector);
  }

  option(kind, name, given, value) {
    if (PLAIN.includes(name)) this.declaration[name] = value;
    else if (name === "operation") this.declaration.operations = [value];
    else if (name === "field") this.declaration.field = path(kind, value);
    else if (FILTERS.includes(name)) this.declaration[name] = this.filter(name, value);
    else if (name === "labels" || name === "annotations") {
      object(`${kind}: ${name}`, value);
      this.functions[name] = {};
      this.declaration[name] = {};
      for (const [key, filter] of Object.entries(value)) {
        if (filter === undefined) throw new TypeError(`${kind}: the filter of ${key} in ${name} is undefined`); // JSON leaves it out
        if (typeof filter === "function") this.functions[name][key] = filter;
        this.declaration[name][key] = declared(filter);
      }
    } else if (SELECTORS.includes(name)) (this.parts ??= {})[name] = value;
    else throw new TypeError(`${kind}: unknown option ${given}`);
  }

  filter(name, value) {
    if (typeof value === "function") this.functions[name] = value;
    else if (name === "when") throw new TypeError("when: must be a function");
    // Null alone is no filter.
    return value === null && name !== "initial_delay" ? { $: "VALUE", value } : declared(value);
  }

  select(kind, selector) {
    if (selector.length === 1 && typeof selector[0] === "function") {
      this.functions.resource = selector[0];
      return { ...this.parts, function: true };
    }
    const valid = (part) => typeof part === "string" || part === EVERYTHING;
    if (selector.length === 0 && !this.parts || !selector.every(valid)) {
      throw new TypeError(`${kind}: name a resource, like "kopfexamples", before the function`);
    }
    return selector.length > 0 ? { ...this.parts, args: selector } : this.parts;
  }
}

// path is the field of a handler, which has the form "spec.size" or ["spec", "size"].
function path(kind, field) {
  if (typeof field === "string") return field.split(".");
  if (!Array.isArray(field)) throw new TypeError(`${kind}: the field is a string or a list, not ${String(field)}`);
  return field;
}

// snake is the name of an option in messages: initialDelay is initial_delay.
const snake = (name) => name.replace(/[A-Z]/g, (letter) => "_" + letter.toLowerCase());

// made is a handler of the arguments (resource..., options, function).
function made(kind, args) {
  const rest = [...args];
  const fn = rest.pop();
  const last = rest.at(-1);
  const options = last !== null && typeof last === "object" && last !== EVERYTHING ? rest.pop() : undefined;
  if (ACTIVITIES.includes(kind) && rest.length > 0) throw new TypeError(`${kind}: it is about no resource`);
  return new Handler(kind, fn, options, ACTIVITIES.includes(kind) ? undefined : rest);
}

const decorator = (kind) => (...args) => {
  if (closed) throw new TypeError(`${kind}: handlers are declared when the script is run, not later`);
  const handler = made(kind, args);
  handlers.push(handler);
  return handler.fn;
};

export const on = Object.freeze(Object.fromEntries(KINDS.map((kind) => [kind, decorator(kind)])));
export const timer = decorator("timer");
export const daemon = decorator("daemon");
export const index = decorator("index");

// child is a sub-handler of the arguments (options, function).
export function child(args) {
  const rest = [...args];
  const fn = rest.pop();
  return new Handler("sub", fn, rest.pop());
}

// subhandler declares a sub-handler of the running handler: see kopf/tasks.
let declare;
export const subhandler = (...args) => declare(child(args));
export function declareBy(fn) { declare = fn; }

// operator says what the operator is called, and in which order handlers are called.
export function operator(given) {
  known("kopf.operator", given, ["name", "version", "lifecycle"]);
  const { lifecycle, ...about } = given;
  Object.assign(facts.operator, about);
  if (lifecycle !== undefined) facts.lifecycle = lifecycle;
}

// wants says which rights the operator needs: the administrator grants them. Several calls add up.
export function wants(rights) {
  known("kopf.wants", rights, ["kubernetes", "http", "config"]);
  const all = facts.capabilities ??= {};
  for (const [name, list] of Object.entries(rights)) {
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw new TypeError(`kopf.wants: ${name} is a list`);
    if (name === "kubernetes") for (const rule of list) known("kopf.wants: a rule", rule, RULE);
    all[name] = [...(all[name] ?? []), ...list];
  }
}

// known refuses options that a function does not have.
export function known(what, options, names) {
  object(what, options);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`${what}: unknown option ${unknown}`);
}

// object refuses values without names: a list or a text would have the names 0, 1, 2.
function object(what, value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new TypeError(`${what}: an object is expected, not ${JSON.stringify(value)}`);
  }
}

// handler is the one at a position of the registration.
export const handler = (position) => handlers[position];

// registration is the answer to the host.
export function registration() {
  closed = true;
  const functions = new Map();
  const numbered = handlers.map(({ declaration, fn }) => {
    if (!functions.has(fn)) functions.set(fn, `${functions.size}`);
    return { ...declaration, fn: `${declaration.id}#${functions.get(fn)}` };
  });
  return { ...facts, handlers: numbered };
}
