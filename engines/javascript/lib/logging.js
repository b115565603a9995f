// Log lines and Kubernetes events about the handled object.

import { known } from "kopf/declarations";
import { nameOf, stackOf } from "kopf/errors";
import { host } from "kopf/host";
import { here, number } from "kopf/tasks";

function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${nameOf(value)}: ${value.message}\n${stackOf(value)}`.trimEnd();
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value);
  } catch { // a circle, a BigInt, a promise: no reason for a handler to fail
    return Object.prototype.toString.call(value);
  }
}

// A text that a script has cut may end with half of a character, which no text of the host can have.
const line = (values) => values.map(shown).join(" ").toWellFormed();

// Logger writes to the log of the object.
export class Logger {
  #task;

  constructor(task) { this.#task = task; }

  log(level, ...values) { host.log(this.#task ?? number(), level, line(values)); }
  debug(...values) { this.log(10, ...values); }
  info(...values) { this.log(20, ...values); }
  warning(...values) { this.log(30, ...values); }
  warn(...values) { this.log(30, ...values); }
  error(...values) { this.log(40, ...values); }
  exception(...values) { this.log(40, ...values); }
  critical(...values) { this.log(50, ...values); }
}

// Scripts find these where they look for them.
const logger = new Logger();
globalThis.console = Object.freeze({
  debug: (...values) => logger.debug(...values),
  log: (...values) => logger.info(...values),
  info: (...values) => logger.info(...values),
  warn: (...values) => logger.warning(...values),
  error: (...values) => logger.error(...values),
});
globalThis.print = (...values) => host.print(line(values));

function post(about, level, type, { reason, message = "", backoffs, ...others }) {
  known("the event", others, []);
  const { id, invocation } = here();
  const { apiVersion, kind, metadata } = about ?? {};
  const own = about === undefined || metadata?.uid !== undefined && metadata.uid === invocation.uid;
  const problem = host.event(id, JSON.stringify({ level, type, reason, message, backoffs, object: own ? undefined : { apiVersion, kind, metadata } }));
  if (problem) throw new Error(`the event is not posted: ${problem}`);
}

// event posts an event about an object; undefined is the handled one. The pauses between attempts are in seconds.
export const event = (about, { type, ...rest }) => post(about, 0, type, rest);
export const info = (about, rest) => post(about, 20, "Normal", rest);
export const warn = (about, rest) => post(about, 30, "Warning", rest);

// exception posts an error; its name is the reason if there is no other.
export function exception(about, { reason, message = "", error, ...rest }) {
  const text = error === undefined ? message : `${message ? message + " " : ""}${error.message ?? error}`;
  post(about, 40, "Error", { ...rest, reason: reason || nameOf(error), message: text });
}
