// Tests of single functions.

// [handlers]

import assert from "node:assert";
import test from "node:test";

// What the operator uses of kopf, as the host has it.
const handlers = {};
class TemporaryError extends Error {}
globalThis.kopf = { TemporaryError, on: { create: (...args) => (handlers[args.at(-1).name] = args.at(-1)) } };
await import("./operator.js");

test("a paid one becomes active", () => {
  const patch = { status: {} };
  assert.deepEqual(handlers.create_fn({ spec: { paid: true, days: 30 }, patch }), { days: 30 });
  assert.deepEqual(patch.status, { phase: "Active" });
});

test("an unpaid one waits", () => {
  assert.throws(() => handlers.create_fn({ spec: { days: 30 }, patch: { status: {} } }), TemporaryError);
});

// [/handlers]
