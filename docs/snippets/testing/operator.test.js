// Runs the scenarios in the tests of Node.js.

// [scenarios]

import { execFileSync } from "node:child_process";
import test from "node:test";

test("scenarios", () => {
  execFileSync("kopf", ["test", "--module", "operator.js"], { stdio: "inherit" });
});

// [/scenarios]
