package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
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

func TestExampleOfHooks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	address := closedPort(t)
	op := s.operate(t, []string{"KUBECONFIG=" + s.Kubeconfig()},
		"run", "-n", s.namespace, "--liveness", "http://"+address+"/healthz", example(t, "13-hooks"))
	s.handled(t, s.objectOf(t))
	code, body, err := ask(t, "http://"+address+"/healthz", patience)
	if err != nil || code != http.StatusOK || !strings.Contains(body, `"handled":1`) || !strings.Contains(body, `"now":"20`) {
		t.Errorf("the probes answer %d %s, %v", code, body, err)
	}
	op.signal(t, syscall.SIGTERM)
	if code := op.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if len(op.stderr.with("that was it handled=1")) != 1 {
		t.Error("it did not say good-bye")
	}
}

func TestExampleOfDaemons(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{module: example(t, "14-daemons")})
	name := s.objectOf(t)
	op.says(t, name, "still there field=value")
	s.patch(t, name, `{"spec":{"field":"other"}}`)
	op.says(t, name, "still there field=other")
	op.until(t, "the background handler ticks", func() bool { return len(op.log.with("the operator is there, too")) > 0 })
	s.remove(t, name)
	op.says(t, name, "good-bye")
	s.gone(t, name)
}

func TestExampleOfTimers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{module: example(t, "15-timers")})
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
	s := newSpace(t)
	for app, name := range map[string]string{"value": "one", "other": "two"} {
		s.ApplyIn(t, s.namespace, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, labels: {app: %s}}}", name, app))
	}
	s.start(t, options{module: example(t, "16-indexing")})
	name := s.objectOf(t)
	s.handled(t, name)
	if got := fmt.Sprint(s.get(t, name).Object["status"]); !strings.Contains(got, "create:map[configs:[one]]") {
		t.Errorf("the status is %s", got)
	}
}

func TestExampleOfMemos(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{module: example(t, "19-memos")})
	name := s.objectOf(t)
	op.says(t, name, "hello events=2") // the creation, and the finalizer of the timer
	s.patch(t, name, `{"metadata":{"annotations":{"a":"b"}}}`)
	op.says(t, name, "hello events=3")
}
