package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// objectOf creates the object of the first example.
func (s space) objectOf(t *testing.T) (name string) {
	t.Helper()
	text, err := os.ReadFile(repository + "/examples/01-minimal/obj.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.ApplyIn(t, s.namespace, string(text))
	return "kopf-example-1"
}

// exampleModule is an example in one language, with what its module needs to run.
type exampleModule struct {
	path  string
	flags []string // of the command line
	by    string   // the engine
}

// options returns the options of an operator in this process.
func (m exampleModule) options() options {
	return options{module: m.path, change: func(o *operator.Options) {
		o.Engine, o.Host.RegisterTimeout = m.by, time.Minute // Python computes for a third of a second, and other tests compute, too
	}}
}

// exampleIn returns an example in Go, Python or JavaScript.
func exampleIn(t *testing.T, name, language string) exampleModule {
	t.Helper()
	switch language {
	case "go":
		return exampleModule{path: example(t, name)}
	case "rust":
		return exampleModule{path: built(t, "rust-"+name)}
	case "javascript":
		by := engine(t)
		return exampleModule{path: repository + "/examples/" + name + "/operator.js", by: by, flags: []string{"--engine", by}}
	}
	by := pythonEngine(t)
	path := repository + "/examples/" + name + "/example.py"
	if _, err := os.Stat(path); err != nil {
		path = repository + "/examples/" + name + "/operator.py" // what Kopf does not have
	}
	return exampleModule{path: path, by: by, flags: []string{"--engine", by, "--limit", "RegisterTimeout=1m"}}
}

// inLanguages runs a test of an example in languages that most examples have, and in more. The
// examples in Rust that leave objects are run by test/takeover.
func inLanguages(t *testing.T, test func(t *testing.T, language string), more ...string) {
	t.Helper()
	for _, language := range append([]string{"go", "python", "javascript"}, more...) {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			test(t, language)
		})
	}
}

func TestExampleOfHooks(t *testing.T) {
	t.Parallel()
	inLanguages(t, func(t *testing.T, language string) {
		module := exampleIn(t, "13-hooks", language)
		exampleOfHooks(t, append(module.flags, module.path)...)
	}, "rust")
}

func exampleOfHooks(t *testing.T, args ...string) {
	t.Helper()
	s := newSpace(t)
	address := porttest.Unused(t)
	op := s.operate(t, []string{"KUBECONFIG=" + s.Kubeconfig()},
		append([]string{"run", "-n", s.namespace, "--liveness", "http://" + address + "/healthz"}, args...)...)
	s.handled(t, s.objectOf(t))
	code, body, err := ask(t, "http://"+address+"/healthz", patience)
	if err != nil || code != http.StatusOK || !strings.Contains(body, `"handled":1`) || !strings.Contains(body, `"now":"20`) {
		t.Errorf("the probes answer %d %s, %v", code, body, err)
	}
	op.signal(t, syscall.SIGTERM)
	if code := op.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if len(op.stderr.With("that was it handled=1")) != 1 {
		t.Error("it did not say good-bye")
	}
}

func TestExampleOfDaemons(t *testing.T) {
	t.Parallel()
	inLanguages(t, func(t *testing.T, language string) {
		exampleOfDaemons(t, exampleIn(t, "14-daemons", language), language)
	})
}

func exampleOfDaemons(t *testing.T, module exampleModule, language string) {
	t.Helper()
	s := newSpace(t)
	op := s.start(t, module.options())
	name := s.objectOf(t)
	op.says(t, name, "still there field=value")
	s.patch(t, name, `{"spec":{"field":"other"}}`)
	op.says(t, name, "still there field=other")
	if language == "go" { // Kopf has no background handlers
		op.until(t, "the background handler ticks", func() bool { return len(op.log.With("the operator is there, too")) > 0 })
	}
	s.remove(t, name)
	op.says(t, name, "good-bye")
	s.gone(t, name)
}

func TestExampleOfTimers(t *testing.T) {
	t.Parallel()
	inLanguages(t, func(t *testing.T, language string) { exampleOfTimers(t, exampleIn(t, "15-timers", language)) })
}

func exampleOfTimers(t *testing.T, module exampleModule) {
	t.Helper()
	s := newSpace(t)
	op := s.start(t, module.options())
	name := s.objectOf(t)
	op.says(t, name, "nothing has changed for 5 seconds")
	op.says(t, name, "Timer 'onTheDot' succeeded.")
	s.eventually(t, func() error {
		if got := fmt.Sprint(s.get(t, name).Object["status"]); !strings.Contains(got, "often:map[field:value]") {
			return fmt.Errorf("the status is %s", got)
		}
		return nil
	})
	s.remove(t, name)
	s.gone(t, name)
}

func TestExampleOfIndexing(t *testing.T) {
	t.Parallel()
	inLanguages(t, func(t *testing.T, language string) { exampleOfIndexing(t, exampleIn(t, "16-indexing", language)) })
}

func exampleOfIndexing(t *testing.T, module exampleModule) {
	t.Helper()
	s := newSpace(t)
	for app, name := range map[string]string{"value": "one", "other": "two"} {
		s.ApplyIn(t, s.namespace, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {app: %s}}}", name, app))
	}
	s.start(t, module.options())
	name := s.objectOf(t)
	s.handled(t, name)
	if got := fmt.Sprint(s.get(t, name).Object["status"]); !strings.Contains(got, "create:map[configs:[one]]") {
		t.Errorf("the status is %s", got)
	}
}

func TestExampleOfMemos(t *testing.T) {
	t.Parallel()
	inLanguages(t, func(t *testing.T, language string) { exampleOfMemos(t, exampleIn(t, "19-memos", language)) }, "rust")
}

func exampleOfMemos(t *testing.T, module exampleModule) {
	t.Helper()
	s := newSpace(t)
	op := s.start(t, module.options())
	name := s.objectOf(t)
	op.says(t, name, "hello events=2") // the creation, and the finalizer of the timer
	s.patch(t, name, `{"metadata":{"annotations":{"a":"b"}}}`)
	op.says(t, name, "hello events=3")
}
