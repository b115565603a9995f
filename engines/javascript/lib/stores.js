// What the host keeps for handlers: memos, indices, the configuration.

import { host } from "kopf/host";
import { number } from "kopf/tasks";

// text is a value of a memo as JSON.
function text(key, value) {
  const encoded = JSON.stringify(value);
  if (encoded === undefined) throw new TypeError(`memo: the value of ${key} is ${typeof value}, which has no form in JSON`);
  return encoded;
}

// Memo keeps values of JSON by keys: of an object, or of the operator.
export class Memo {
  #scope; #task;

  constructor(scope, task) {
    this.#scope = scope;
    this.#task = task;
    Object.freeze(this); // memo.x = 1 would be lost
  }

  #id() { return this.#task ?? number(); }

  #read(key) {
    const found = host.memoGet(this.#id(), this.#scope, key);
    if (found === undefined) return { version: 0 };
    const space = found.indexOf(" ");
    return { version: Number(found.slice(0, space)), value: JSON.parse(found.slice(space + 1)) };
  }

  get(key) { return this.#read(key).value; }
  set(key, value) { host.memoSet(this.#id(), this.#scope, key, text(key, value), -1); }
  delete(key) { host.memoSet(this.#id(), this.#scope, key, "", -1); }

  // update changes a value by a function of the old one, which is called again if
  // another task was faster.
  update(key, fn) {
    for (;;) {
      const { version, value } = this.#read(key);
      const next = fn(value);
      if (host.memoSet(this.#id(), this.#scope, key, text(key, next), version)) return next;
    }
  }
}

// memo is that of the operator.
export const memo = new Memo(1);

const GET = 0, KEYS = 1, LENGTH = 2, HAS = 3;

// Index is one index of the operator, in its current state.
export class Index {
  #name; #task;

  constructor(name, task) {
    this.#name = name;
    this.#task = task;
  }

  #ask(op, key) {
    const found = host.index(this.#task, op, this.#name, key === undefined ? "" : JSON.stringify(key));
    return found === undefined ? undefined : JSON.parse(found);
  }

  get(key) { return this.#ask(GET, key) ?? []; }
  keys() { return this.#ask(KEYS) ?? []; }
  has(key) { return Boolean(this.#ask(HAS, key)); }
  get size() { return this.#ask(LENGTH) ?? 0; }
  *[Symbol.iterator]() { for (const key of this.keys()) yield [key, this.get(key)]; }
}

// config is a value of the configuration, secrets included; undefined if it is not there.
export const config = (key) => host.config(key);
