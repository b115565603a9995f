// The messages of the host: what the engine calls.

import kopf from "kopf";
import { registration } from "kopf/declarations";
import { PermanentError, failure, located, nameOf } from "kopf/errors";
import { evaluate } from "kopf/filters";
import { host } from "kopf/host";
import { Kwargs } from "kopf/kwargs";
import { Logger } from "kopf/logging";
import { Task, byNumber, callee, release as forget, within } from "kopf/tasks";

globalThis.kopf = kopf;
Math.random = host.random; // clones would share the numbers of QuickJS

// JSON has {} for these, so results, patches, memos and bodies would lose what is in them.
for (const [type, advice] of [[Promise, "await it first"], [Map, "Object.fromEntries makes an object of it"], [Set, "[...set] is a list"]]) {
  Object.defineProperty(type.prototype, "toJSON", { value() { throw new TypeError(`a ${type.name.toLowerCase()} has no form in JSON: ${advice}`); } });
}

// script is the script of a request for the registration, and its name.
export function script(request) {
  const { config = {} } = JSON.parse(request);
  if (config.KOPF_SCRIPT === undefined) return { name: "script", text: 'throw new TypeError("there is no script: its text is expected in the configuration KOPF_SCRIPT");' };
  return { name: config.KOPF_SCRIPT_NAME ?? "script.js", text: config.KOPF_SCRIPT };
}

// Promises that have failed, and that nothing awaits, with their errors.
const failed = new Map();

// rejected is called for each such promise, and again if a function awaits it later.
export function rejected(promise, error, awaited) {
  if (awaited) failed.delete(promise);
  else failed.set(promise, error);
}

export function register() {
  for (const error of failed.values()) throw error;
  return JSON.stringify(registration());
}

// refuse is the answer for a script that fails.
export const refuse = (error) => JSON.stringify({ error: located(error) });

// start begins a task. If its result is an object that is converted, it returns the text of that object, as resume does.
export function start(id, header, body) {
  const invocation = JSON.parse(header);
  const task = new Task(id, invocation);
  task.kwargs = new Kwargs(task, invocation, body);
  task.run(callee(invocation), task.kwargs);
  if (invocation.kind === "convert") task.converted = body;
  return task.converted;
}

export function resume(id, answer) {
  const task = byNumber(id);
  task.resume(JSON.parse(answer));
  return task.converted;
}

// step is what a task wishes, after everything that could run.
export function step(id) {
  const task = byNumber(id);
  for (const error of failed.values()) new Logger(id).error(`Handler '${task.invocation.id}' does not await what has failed:`, error);
  failed.clear();
  try {
    const step = JSON.stringify(task.step());
    if (task.outcome?.children) task.sealed();
    return step;
  } catch (error) { // a circle or a BigInt: another attempt would fail, too
    forget(id);
    const reason = new PermanentError(`the result or the patch cannot be JSON: ${nameOf(error)}: ${error.message}`);
    return JSON.stringify({ step: "done", error: failure(reason) });
  }
}

// ask answers questions about filters: for each the value of the last function that was called.
export function ask(id, header, body) {
  const cause = JSON.parse(header);
  const probe = { id, invocation: cause };
  const kwargs = new Kwargs(probe, cause, body);
  const answers = cause.questions.map((question) => within(probe, () => {
    try {
      let value = true;
      for (const callback of question.callbacks) {
        value = evaluate(callback, callee(question).functions, kwargs, cause.resource);
        if (value !== true) break;
      }
      return { value };
    } catch (error) {
      return { error: failure(error) };
    }
  }));
  failed.clear(); // of async functions, whose answers are errors
  return JSON.stringify({ answers });
}

// whole is what a function of a patch returns if it is another object. Arrow functions also return what they assign.
function whole(returned) {
  if (returned instanceof Promise) throw new TypeError("patch.edit: the function is async, but the host cannot wait for it");
  return returned !== null && typeof returned === "object" && Object.hasOwn(returned, "metadata") ? returned : undefined;
}

// transform applies the functions that a task has left.
export function transform(id, text) {
  try {
    const edited = byNumber(id).edits.reduce((body, edit) => whole(edit(body)) ?? body, JSON.parse(text));
    return JSON.stringify({ body: edited });
  } catch (error) {
    failed.clear(); // of async functions, as above
    return JSON.stringify({ error: failure(error) });
  }
}

export function release(id) { forget(id); }
