// Errors that handlers throw, and their form for the host.

// Named gives errors the name of their class.
class Named extends Error {
  get name() { return this.constructor.name; }
}

// TemporaryError lets the handler be called again: after 60 seconds, or after the
// delay in seconds; null is at once.
export class TemporaryError extends Named {
  constructor(message = "", delay = undefined) {
    const options = delay !== null && typeof delay === "object" ? delay : { delay };
    super(message, options); // which may have a cause
    this.delay = options.delay;
  }
}

// PermanentError ends the handler for this cause.
export class PermanentError extends Named {}

// AdmissionError refuses a review, with the code of HTTP.
export class AdmissionError extends Named {
  constructor(message = "", code = 500) {
    const options = code !== null && typeof code === "object" ? code : { code };
    super(message, options);
    this.code = options.code;
  }
}

// CancelledError ends what waits in a handler that is to end.
export class CancelledError extends Named {}

// RequestError is a request without a response; its code is one of the contract.
export class RequestError extends Named {
  constructor({ message, type, kind }) {
    super(message);
    this.code = type;
    this.kind = kind;
  }
}

// APIError is a response of the API server that says no.
export class APIError extends Named {
  constructor(response) {
    const { status, body } = response;
    super(body?.message ?? `the API server responds with ${status}`);
    this.status = status;
    this.reason = body?.reason ?? "";
    this.body = body;
  }
}

// ChildrenPending ends a handler whose sub-handlers are to be continued later.
export class ChildrenPending extends Named {}

// failure is what was thrown, as the host gets it.
export function failure(thrown) {
  let error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (error instanceof TemporaryError && !isDelay(error.delay)) {
    error = new TypeError(`${nameOf(error)}: ${error.message} (its delay is a number of seconds, or null, not ${String(error.delay)})`);
  }
  const report = { kind: kindOf(error), message: advised(error), type: nameOf(error), stack: traced(error) };
  if (error instanceof TemporaryError && error.delay !== undefined) report.delay = error.delay;
  if (error instanceof AdmissionError) report.code = error.code;
  return report;
}

// JSON has null for NaN, which would be another attempt at once, again and again.
const isDelay = (delay) => delay === undefined || delay === null || Number.isFinite(delay);

// nameOf is the name that an error or its class sets, or else the name of its class: a class that extends TypeError
// inherits the name "TypeError".
export function nameOf(error) {
  if (!(error instanceof Error)) return "Error";
  const sets = Object.hasOwn(error, "name") || Object.hasOwn(Object.getPrototypeOf(error), "name");
  return String((sets ? error.name : error.constructor?.name) || error.name || "Error");
}

function kindOf(error) {
  if (error instanceof TemporaryError) return "temporary";
  if (error instanceof PermanentError) return "permanent";
  if (error instanceof AdmissionError) return "admission";
  if (error instanceof ChildrenPending) return "children";
  if (error instanceof RequestError && error.kind === "permanent") return "permanent";
  return "arbitrary";
}

// stackOf is the stack without the frames of this library.
export function stackOf(error) {
  const lines = String(error.stack ?? "").split("\n");
  return lines.filter((line) => line.trim() && !line.includes("(kopf") && !line.includes("(native)")).join("\n");
}

// traced is the stack of an error, with its causes and their stacks.
function traced(error) {
  let text = stackOf(error);
  let cause = error.cause;
  for (let rest = 5; cause instanceof Error && rest > 0; rest--) {
    text += `\nCaused by ${nameOf(cause)}: ${cause.message}\n${stackOf(cause)}`.trimEnd();
    cause = cause.cause;
  }
  return text;
}

// located is the message of an error with its place in the script, for one line.
export function located(thrown) {
  if (!(thrown instanceof Error)) return `the script throws ${String(thrown)}`;
  const place = /([^\s()]+:\d+(:\d+)?)\)?$/.exec(stackOf(thrown).split("\n")[0]);
  return `${place ? place[1] + ": " : ""}${nameOf(thrown)}: ${advised(thrown)}`;
}

// What to do about messages of the interpreter, by how they begin.
const ADVICE = [
  [/^(Error resolving module|require is not defined)/, "a script is one file: join several files with a bundler"],
  [/^process is not defined/, "kopf.config(key) has the configuration"],
  [/^set(Timeout|Interval) is not defined/, "await kopf.sleep(seconds)"],
  [/^object is not extensible/, "change the object by the patch, as in patch.status.x = 1, and a memo by memo.set(key, value)"],
];

// advised is the message of an error of the interpreter, with what to do.
function advised(error) {
  const message = String(error.message);
  if (!(error instanceof TypeError || error instanceof ReferenceError)) return message;
  const advice = ADVICE.find(([begin]) => begin.test(message));
  return advice ? `${message}: ${advice[1]}` : message;
}
