package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/test/sources"
)

// engine builds the engine of JavaScript.
func engine(t *testing.T) string {
	t.Helper()
	sources.WatchRust(t, "engines/javascript")
	path, err := filepath.Abs(made(t, "bin/engines/javascript.wasm", "engine.sh", "engines/javascript"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// script writes an operator in JavaScript.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "op.js")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runs starts a script.
func (s space) runs(t *testing.T, path string, o options) *running {
	t.Helper()
	by := engine(t)
	o.module, o.change = path, func(o *operator.Options) { o.Engine = by }
	return s.start(t, o)
}

// TestScript: the first example in JavaScript runs without a build, with the engine where users put it.
func TestScript(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	data := t.TempDir()
	if err := os.MkdirAll(data+"/kopf/engines", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(engine(t), data+"/kopf/engines/javascript.wasm"); err != nil {
		t.Fatal(err)
	}
	op := s.operate(t, []string{"KUBECONFIG=" + s.Kubeconfig(), "XDG_DATA_HOME=" + data},
		"run", "-n", s.namespace, repository+"/examples/01-minimal/operator.js")
	if got := fmt.Sprint(s.handled(t, s.objectOf(t)).Object["status"]); got != "map[create_fn:map[message:hello] seen:true]" {
		t.Errorf("the status is %s", got)
	}
	if len(op.stderr.With("a new object field=value")) != 1 {
		t.Error("it does not say that there is an object")
	}
}

// TestExampleOfScripts: indices, children, errors, sub-handlers and daemons of a script.
func TestExampleOfScripts(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.runs(t, repository+"/examples/20-scripts/operator.js", options{wanted: true})
	s.ApplyIn(t, s.namespace, `{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a, labels: {watched: "yes"}}, spec: {greeting: hello, slow: true, items: [one, two]}}`)
	op.says(t, "a", "failed temporarily: let me think")
	op.says(t, "a", "a-greeting says hello")
	op.says(t, "a", "hello, two")
	s.handled(t, "a")
	made, err := s.client(configMaps).Get(t.Context(), "a-greeting", metav1.GetOptions{})
	if err != nil || fmt.Sprint(made.Object["data"]) != "map[text:hello]" || len(made.GetOwnerReferences()) != 1 || made.GetLabels()["app"] != "greetings" {
		t.Errorf("the child is %v, %v", made, err)
	}
	s.create(t, "b", `{greeting: hello}`)
	op.says(t, "b", "failed permanently: a says hello already")
	op.says(t, "a", "round 2: hello")
	s.patch(t, "a", `{"spec":{"greeting":"hi"}}`)
	op.says(t, "a", "hi")
	s.patch(t, "a", `{"metadata":{"labels":{"watched":"no"}}}`)
	op.says(t, "a", "good-bye because of filters_mismatch")
}

// TestInspectOfScript: a script is inspected by running it, and the output names the engine.
func TestInspectOfScript(t *testing.T) {
	t.Parallel()
	by := engine(t)
	got := kopf(t, nil, "inspect", "--engine", by, repository+"/examples/20-scripts/operator.js")
	for _, want := range []string{"script, run by " + by, "greetings 1.0", "--allow-kubernetes get,create,patch:configmaps", "by_greeting", "watchdog"} {
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("exit code %d, no %q in:\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
}

// TestRightsOfScriptsAddUp: each part of a script says what it needs.
func TestRightsOfScriptsAddUp(t *testing.T) {
	t.Parallel()
	path := script(t, `kopf.wants({ http: ["a.example"] }); kopf.wants({ http: ["b.example"] });
kopf.on.create("kopfexamples", function fn() {});`)
	got := kopf(t, nil, "inspect", "--engine", engine(t), path)
	for _, want := range []string{"--allow-host a.example", "--allow-host b.example"} {
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("exit code %d, no %q in:\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
}

// TestScriptLogsHalfACharacter: a text that a script has cut in the middle of a character is logged, and no error.
func TestScriptLogsHalfACharacter(t *testing.T) {
	t.Parallel()
	path := script(t, `kopf.on.create("kopfexamples", function cut({ logger, name }) {
  const half = (name + "😀").slice(0, 3);
  logger.info("logged", half);
  console.log("shown", half);
  print("printed", half);
});`)
	object := filepath.Join(t.TempDir(), "obj.yaml")
	if err := os.WriteFile(object, []byte("apiVersion: kopf.dev/v1\nkind: KopfExample\nmetadata: {name: ab}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := kopf(t, nil, "invoke", "--engine", engine(t), path, "cut", object)
	for _, want := range []string{"logged ab\ufffd", "shown ab\ufffd", "printed ab\ufffd"} {
		if got.code != 0 || !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("exit code %d, no %q in:\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
}

// TestScriptIsRefused: what is wrong when a script is loaded, with its place.
func TestScriptIsRefused(t *testing.T) {
	t.Parallel()
	by := engine(t)
	fn := `kopf.on.create("kopfexamples", () => {});` + "\n"
	for name, tt := range map[string]struct{ text, want string }{
		"syntax":             {fn + "let x = {;", "op.js:2:10: SyntaxError"},
		"thrown":             {fn + "\nundefinedFunction();", "op.js:3:1: ReferenceError: undefinedFunction is not defined"},
		"thrown value":       {`throw "boo"`, "the script throws boo"},
		"unknown option":     {`kopf.on.create("kopfexamples", { retrys: 3 }, () => {});`, "op.js:1:8: TypeError: create: unknown option retrys"},
		"unknown fact":       {`kopf.operator({ nome: "x" }); ` + fn, "TypeError: kopf.operator: unknown option nome"},
		"unknown right":      {`kopf.wants({ htpp: ["x.example"] }); ` + fn, "TypeError: kopf.wants: unknown option htpp"},
		"misspelt rule":      {`kopf.wants({ kubernetes: [{ groups: [""], resource: ["pods"], verbs: ["get"] }] }); ` + fn, "op.js:1:5: TypeError: kopf.wants: a rule: unknown option resource"},
		"rule as a text":     {`kopf.wants({ kubernetes: ["get:pods"] }); ` + fn, `TypeError: kopf.wants: a rule: an object is expected, not "get:pods"`},
		"list of labels":     {`kopf.on.create("kopfexamples", { labels: ["app"] }, () => {});`, `op.js:1:8: TypeError: create: labels: an object is expected, not ["app"]`},
		"text of a filter":   {`kopf.on.create("kopfexamples", { annotations: "app" }, () => {});`, `TypeError: create: annotations: an object is expected, not "app"`},
		"number of a field":  {`kopf.on.field("kopfexamples", { field: 5 }, () => {});`, "op.js:1:8: TypeError: field: the field is a string or a list, not 5"},
		"right as a text":    {`kopf.wants({ http: "x.example" }); ` + fn, "TypeError: kopf.wants: http is a list"},
		"undefined filter":   {`kopf.on.create("kopfexamples", { labels: { app: undefined } }, () => {});`, "TypeError: create: the filter of app in labels is undefined"},
		"option of others":   {`kopf.on.create("kopfexamples", { interval: 3 }, () => {});`, "interval"},
		"no function":        {`kopf.on.create("kopfexamples");`, "op.js:1:8: TypeError: create: the last argument must be a function"},
		"no resource":        {`kopf.on.create(() => {});`, "op.js:1:8: TypeError: create: name a resource"},
		"no such kind":       {`kopf.on.created("x", () => {});`, "op.js:1:8: TypeError: not a function"},
		"two of one id":      {fn + fn, `"create"`},
		"import":             {`import fs from "fs"; ` + fn, `Error resolving module 'fs' from 'op.js': a script is one file: join several files with a bundler`},
		"require":            {`require("fs"); ` + fn, "op.js:1:1: ReferenceError: require is not defined: a script is one file"},
		"process":            {`process.env.X; ` + fn, "process is not defined: kopf.config(key) has the configuration"},
		"endless wait":       {`await new Promise(() => {});`, "the script waits for something that never comes"},
		"endless loop":       {`for (;;) {}`, "op.js"},
		"too much memory":    {`const all = []; for (;;) all.push("x".repeat(1e6) + all.length);`, "op.js"},
		"waits at its start": {`await kopf.sleep(1);`, "op.js:1:11: TypeError: this works in handlers only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, kopf(t, nil, "run", "-A", "--engine", by, "--limit", "ComputeLimit=3s", "--limit", "MaxMemory=64Mi", script(t, tt.text)), 1, "op.js", tt.want)
		})
	}
	t.Run("no engine", func(t *testing.T) {
		t.Parallel()
		refused(t, kopf(t, []string{"XDG_DATA_HOME=/nowhere"}, "run", "-A", script(t, fn)), 1,
			"op.js: there is no engine for it", "--engine", "/nowhere/kopf/engines/javascript.wasm")
	})
	t.Run("other engine", func(t *testing.T) {
		t.Parallel()
		refused(t, kopf(t, nil, "run", "-A", "--engine", script(t, fn), script(t, fn)), 1, "op.js", "not a WebAssembly file")
	})
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "op.ts")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, kopf(t, nil, "run", "-A", path), 1, "op.ts: TypeScript is translated first")
	})
}

// TestScriptWithoutHandlers: nothing would happen, and nothing would say why.
func TestScriptWithoutHandlers(t *testing.T) {
	t.Parallel()
	got := kopf(t, []string{"KUBECONFIG=/dev/null"}, "run", "-A", "--engine", engine(t), script(t, "function create() {}"))
	if want := "op.js registers no handlers, so it does nothing."; !strings.Contains(got.stderr, want) {
		t.Errorf("no %q in:\n%s", want, got.stderr)
	}
}

// TestHostileScript: what handlers do wrong ends their calls, and nothing else; errors
// have their place in the script.
func TestHostileScript(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.runs(t, script(t, `
const inner = () => { throw new RangeError("out of luck"); };
const deeper = (n) => 1 + deeper(n + 1);
const acts = {
  throws: () => inner(),
  recursion: () => deeper(0),
  loop: () => { for (;;) {} },
  regexp: () => /^(a+)+$/.test("a".repeat(50) + "b"),
  memory: () => { const all = []; for (;;) all.push(new Uint8Array(1 << 20)); },
  class: () => { throw new (class OutOfPaper extends RangeError {})("no more"); },
  circle: () => { const o = {}; o.o = o; return o; },
  function: () => Promise.reject("just a text"),
  global: () => { throw new kopf.PermanentError([typeof host, typeof std, typeof os, typeof process, typeof require].join()); },
  waits: () => new Promise(() => {}),
};
kopf.on.create("kopfexamples", { errors: "PERMANENT" }, async function act({ spec }) { return acts[spec.act](); });
kopf.on.event("kopfexamples", function spy({ name, logger }) { logger.info("seen " + Math.random()); });
`), options{host: host.Options{ComputeLimit: 2 * time.Second, MaxMemory: 48 << 20}})
	for act, want := range map[string]string{
		"throws":    "op.js:2:",
		"recursion": "Maximum call stack size exceeded",
		"loop":      "2s",
		"regexp":    "2s",
		"memory":    "memory",
		"class":     "OutOfPaper",
		"circle":    "failed permanently: the result or the patch cannot be JSON: TypeError: circular reference",
		"function":  "just a text",
		"global":    "failed permanently: undefined,undefined,undefined,undefined,undefined",
	} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			s.create(t, act, "{act: "+act+"}")
			op.says(t, act, want)
			op.says(t, act, "seen 0.")
			s.handled(t, act)
		})
	}
	t.Run("waits", func(t *testing.T) {
		t.Parallel()
		s.create(t, "waits", "{act: waits}") // until the operator ends
		op.says(t, "waits", "seen 0.")
	})
}

// TestScriptsInClones: numbers by chance differ between instances, whose memory was the same.
func TestScriptsInClones(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.runs(t, script(t, `kopf.on.create("kopfexamples", async function draw() {
  const first = Math.random();
  await kopf.sleep(1); // so that all are there at once
  return [first, Math.random(), new Date().getFullYear() > 2020];
});`), options{})
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		s.create(t, name, "{}")
	}
	drawn := map[string]bool{}
	for _, name := range names {
		got := fmt.Sprint(s.handled(t, name).Object["status"])
		if !strings.Contains(got, "true") {
			t.Errorf("%s: %s", name, got)
		}
		drawn[got] = true
	}
	if len(drawn) != len(names) {
		t.Errorf("clones draw the same: %v", drawn)
	}
}

// TestScriptsSeeLimits: what the host refuses to keep is an exception, which a script can catch.
func TestScriptsSeeLimits(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	path := script(t, `
kopf.on.create("kopfexamples", function fill({ memo, name }) {
  const caught = [];
  for (const own of [memo, kopf.memo]) {
    try {
      for (let i = 0; i < 100; i++) own.set("key" + i, "x".repeat(100000));
    } catch (error) {
      caught.push(String(error.message).includes("over a limit of the host") && error instanceof Error);
    }
  }
  return caught;
});`)
	s.runs(t, path, options{host: host.Options{Held: held}})
	s.create(t, "obj", "{}")
	if got := fmt.Sprint(s.handled(t, "obj").Object["status"]); got != "map[fill:[true true]]" {
		t.Errorf("the status is %s", got)
	}
}
