// Tasks: one for each invocation that is not over.

import { Handler, child, declareBy, handler } from "kopf/declarations";
import { CancelledError, ChildrenPending, failure } from "kopf/errors";
import { host } from "kopf/host";
import { Kwargs } from "kopf/kwargs";
import { difference, merged } from "kopf/patches";

const tasks = new Map();

// What runs now: functions without an argument for it are about this one.
let current;

// here is the running task.
export function here() {
  if (!current) throw new TypeError("this works in handlers only");
  return current;
}

// number is that of the running task for functions of the host; 0 if there is none.
export const number = () => current?.id ?? 0;

// byNumber is a task that is not over.
export const byNumber = (id) => tasks.get(id);

// callee is the handler that an invocation or a question is for.
export function callee({ parent, handler: position }) {
  return parent ? tasks.get(parent).offered[position] : handler(position);
}

// within runs a function as a part of a task.
export function within(task, fn) {
  const before = current;
  current = task;
  try {
    return fn();
  } finally {
    current = before;
  }
}

export class Task {
  wishes = []; // of the function, in order: what the host is asked for, with the children that it offers
  declared = []; // sub-handlers that are not executed yet
  offered = []; // those of the last step

  constructor(id, invocation) {
    this.id = id;
    this.invocation = invocation;
    tasks.set(id, this);
  }

  // run calls the handler. What it awaits continues when the host has answered.
  run({ fn }, kwargs) {
    current = this;
    const ended = (outcome) => { this.outcome ??= outcome; };
    const failed = (error) => {
      try {
        ended({ ...this.kept(kwargs), error: failure(error) });
      } catch { // without an outcome, the host would wait for ever
        ended({ step: "done", error: failure(new TypeError("the error of the handler cannot be read")) });
      }
    };
    try {
      const returned = fn(kwargs);
      if (!(returned instanceof Promise)) return ended(this.done(kwargs, returned));
      returned.then((result) => ended(this.done(kwargs, result))).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  // done is the step after a success.
  done(kwargs, result) {
    const step = { ...this.kept(kwargs), ...resultOf(this.invocation.kind, result) };
    if (this.declared.length > 0) step.children = this.offer(this.declared);
    return step;
  }

  // kept is what holds after errors, too.
  kept(kwargs) {
    const { patch, edits, warnings, settings } = Kwargs.outcome(kwargs);
    this.edits = edits;
    return { step: "done", patch: this.inherited(patch), transforms: edits.length, warnings, settings };
  }

  // inherited is the patch, with what a sub-handler has changed in those of the handlers above it, whose last steps do not have it.
  inherited(patch) {
    for (let above = tasks.get(this.invocation.parent); above; above = tasks.get(above.invocation.parent)) {
      const late = above.unsent();
      if (late.patch) patch = merged(late.patch, patch ?? {});
      this.edits.push(...late.edits);
    }
    return patch;
  }

  // sealed remembers the patch of the last step: closures of sub-handlers may change it later.
  sealed() {
    this.sent = JSON.parse(JSON.stringify(this.outcome.patch ?? {}));
    this.announced = this.outcome.transforms;
  }

  // unsent is what has changed in the patch since the last step.
  unsent() {
    if (!this.sent) return { edits: [] };
    const { patch = {}, edits } = Kwargs.outcome(this.kwargs);
    const now = JSON.parse(JSON.stringify(patch));
    const late = difference(now, this.sent);
    this.sent = now;
    return { patch: Object.keys(late).length > 0 ? late : undefined, edits: edits.splice(this.announced) };
  }

  offer(children) {
    this.offered = children;
    return children.map(({ declaration }) => declaration);
  }

  // wish asks the host for something.
  wish(step, children) {
    if (step.step === "wait") Kwargs.forget(this.kwargs);
    return new Promise((resolve, reject) => { this.wishes.push({ step, children, resolve, reject }); });
  }

  // step is what the host gets when nothing more can run without an answer.
  step() {
    if (this.outcome) {
      if (this.wishes.length > 0 && !this.outcome.error) {
        host.log(this.id, 30, `Handler '${this.invocation.id}' has not awaited ${this.wishes.length} of its requests and waits: they are not made.`);
      }
      if (!this.outcome.children) this.kwargs = undefined; // which knows this task: no search for cycles is needed
      if (!this.outcome.transforms && !this.outcome.children) tasks.delete(this.id);
      return this.outcome;
    }
    this.asked = this.wishes.shift();
    if (this.asked?.children) return { ...this.asked.step, children: this.offer(this.asked.children) };
    return this.asked?.step ?? { step: "wait" };
  }

  // endIfCancelled fails once in a task that is to end, which has learnt it while it waited for a response.
  endIfCancelled() {
    if (!this.cancelled || this.notified) return;
    this.notified = true;
    throw new CancelledError("the handler is to end");
  }

  // resume continues with the answer of the host. The first wait in a task that is to end fails.
  resume(answer) {
    current = this;
    const asked = this.asked;
    this.cancelled ||= Boolean(answer.cancelled);
    if (!asked) this.outcome ??= { step: "done", error: failure(new CancelledError("the handler waits for nothing")) };
    else if (this.cancelled && !this.notified && asked.step.step === "wait") {
      this.notified = true;
      asked.reject(new CancelledError("the handler is to end"));
    } else asked.resolve(answer);
  }
}

function resultOf(kind, result) {
  if (kind !== "index" || result === undefined || result === null) return { result };
  if (result instanceof Map) return { keyed: true, result: [...result] };
  if (typeof result === "object" && !Array.isArray(result)) return { keyed: true, result: Object.entries(result) };
  return { keyed: true, result: [[null, result]] };
}

// release forgets a task.
export function release(id) {
  const task = tasks.get(id);
  if (task) task.kwargs = undefined; // see step
  tasks.delete(id);
}

// pause is the seconds of a wait. What is no number would wait for ever: JSON has no NaN, and leaves out what is undefined.
function pause(what, seconds) {
  if (typeof seconds !== "number" || Number.isNaN(seconds)) throw new TypeError(`${what}: a number of seconds is expected, not ${String(seconds)}`);
  return Math.max(0, seconds);
}

// sleep waits for seconds.
export async function sleep(seconds) {
  here().endIfCancelled();
  await here().wish({ step: "wait", seconds: pause("kopf.sleep", seconds) });
}

// wait waits until the daemon is to stop, or for seconds; whether it is to stop.
export async function wait(task, seconds) {
  task.endIfCancelled();
  const limit = seconds === undefined ? {} : { seconds: pause("stopped.wait", seconds) };
  const answer = await task.wish({ step: "wait", stoppable: true, ...limit });
  return Boolean(answer.stopped?.length);
}

// execute runs sub-handlers now: functions by their ids, or a list of functions; those
// that were declared, if none are given.
export async function execute(fns) {
  const task = here();
  let children;
  if (fns === undefined) children = task.declared.splice(0);
  else if (Array.isArray(fns)) children = fns.map((fn) => (fn instanceof Handler ? fn : child([fn])));
  else if (fns === null || typeof fns !== "object" || Symbol.iterator in fns) {
    throw new TypeError("kopf.execute: a list of functions, or an object with functions by their ids, is expected"); // others look empty
  } else children = Object.entries(fns).map(([id, fn]) => child([{ id }, fn]));
  if (children.length === 0) return;
  const { patch } = Kwargs.outcome(task.kwargs); // those of sub-handlers follow it
  const answer = await task.wish({ step: "execute", patch }, children);
  if (answer.pending) throw new ChildrenPending("sub-handlers are unfinished");
}

declareBy((declared) => {
  here().declared.push(declared);
  return declared.fn;
});
