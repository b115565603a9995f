// The argument of handlers: what is known of the cause, by the names of the reference.
// Most of it is read when it is looked at.

import { host } from "kopf/host";
import { Logger } from "kopf/logging";
import { Patch } from "kopf/patches";
import { Settings } from "kopf/settings";
import { Index, Memo } from "kopf/stores";
import { wait } from "kopf/tasks";

const OLD = 3, NEW = 4, DIFF = 5, EVENT = 6, FRESH = 7;

const NOTHING = Object.freeze({});

// close makes an object and its main parts read-only: status.x = 1 would be lost. What is inside of them may go into other objects.
function close(body) {
  const { metadata, spec, status } = body ?? {};
  [body, metadata, spec, status].forEach(Object.freeze);
}

export class Kwargs {
  #task; #invocation; #text; #body; #patch; #settings; #logger; #stopped;
  #warnings = [];

  constructor(task, invocation, body) {
    this.#task = task;
    this.#invocation = invocation;
    this.#text = body;
    for (const name of invocation.indices ?? []) {
      Object.defineProperty(this, name, { get: () => this.indices[name], enumerable: true });
    }
  }

  #segment(tag) {
    const text = host.segment(this.#task.id, tag);
    return text ? JSON.parse(text) : undefined;
  }

  // body is the object. Daemons and timers see the newest one that is known.
  get body() {
    const lives = this.#invocation.kind === "daemon" || this.#invocation.kind === "timer";
    const text = (lives && host.segment(this.#task.id, FRESH)) || this.#text;
    if (this.#body === undefined || text !== this.#text) {
      this.#text = text;
      this.#body = text ? JSON.parse(text) : null;
      if (this.#invocation.kind !== "convert") close(this.#body);
    }
    return this.#body;
  }

  get meta() { return this.body?.metadata ?? NOTHING; }
  get spec() { return this.body?.spec ?? NOTHING; }
  get status() { return this.body?.status ?? NOTHING; }
  get labels() { return this.meta.labels ?? {}; }
  get annotations() { return this.meta.annotations ?? {}; }
  get name() { return this.#invocation.name; }
  get namespace() { return this.#invocation.namespace ?? null; }
  get uid() { return this.#invocation.uid; }
  get resource() { return this.#invocation.resource; }

  get patch() { return this.#patch ??= new Patch(); }
  set patch(values) { this.patch.merge(values); }
  get logger() { return this.#logger ??= new Logger(this.#task.id); }
  get memo() { return new Memo(0, this.#task.id); }

  get id() { return this.#invocation.id; }
  get param() { return this.#invocation.param ?? null; }
  get retry() { return this.#invocation.retry; }
  get started() { return new Date(this.#invocation.started); }
  get runtime() { return this.#invocation.runtime; }
  get reason() { return this.#invocation.reason; }
  get type() { return this.#invocation.type ?? null; }
  get event() { return this.#segment(EVENT); }
  get old() { return this.#segment(OLD) ?? null; }
  get new() { return this.#segment(NEW) ?? null; }
  get diff() { return this.#segment(DIFF) ?? []; }

  // stopped says whether the daemon is to stop; stopped.wait(seconds) waits for that.
  get stopped() {
    const task = this.#task;
    return this.#stopped ??= Object.assign(() => host.stopped(task.id) !== 0, {
      wait: (seconds) => wait(task, seconds),
      reasons: () => REASONS.filter((_, bit) => host.stopped(task.id) >> bit & 1),
    });
  }

  get activity() { return this.#invocation.activity; }
  get settings() { return (this.#settings ??= new Settings(this.#invocation.settings ?? {})).view; }
  get logins() { return this.#invocation.logins ?? []; }

  get operation() { return this.#invocation.admission?.operation; }
  get subresource() { return this.#invocation.admission?.subresource ?? null; }
  get dryrun() { return this.#invocation.admission?.dryrun ?? false; }
  get userinfo() { return this.#invocation.admission?.userinfo; }
  get headers() { return this.#invocation.admission?.headers ?? {}; }
  get sslpeer() { return this.#invocation.admission?.sslpeer; }
  get warnings() { return this.#warnings; }
  get conversion() { return this.#invocation.conversion; }

  get indices() {
    const named = (this.#invocation.indices ?? []).map((name) => [name, new Index(name, this.#task.id)]);
    return Object.fromEntries(named);
  }

  // forget drops the object before a wait, because a thousand daemons may share a memory. The newest one is fetched when it is next read.
  static forget(kwargs) {
    if (kwargs?.#invocation.kind === "daemon") kwargs.#body = kwargs.#text = undefined;
  }

  // outcome is what the library takes of it in the end. It is no method, since an index may have its name.
  static outcome(kwargs) {
    const { patch, edits } = kwargs.#patch ? Patch.changes(kwargs.#patch) : { patch: undefined, edits: [] };
    return { patch, edits, warnings: kwargs.#warnings.map(String), settings: kwargs.#settings?.changes };
  }
}

const REASONS = ["done", "filters_mismatch", "resource_deleted", "operator_pausing", "operator_exiting",
  "daemon_signalled", "daemon_cancelled", "daemon_abandoned"];
