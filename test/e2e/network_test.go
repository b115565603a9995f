package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-wasm/kopf/test/porttest"
)

// full tells whether the faults are tested at length, as `make faults` does.
func full() bool { return os.Getenv("KOPF_FAULTS") == "full" }

// sized is a number for the short form, and one for the full form.
func sized(short, long int) int {
	if full() {
		return long
	}
	return short
}

// impatient are settings that notice and repeat soon.
var impatient = []string{
	"--set", "watching.inactivity_timeout=2", "--set", "watching.client_timeout=30", "--set", "networking.request_timeout=2",
	"--set", "networking.error_backoffs={list: [0.2], repeatLast: true}",
}

// TestFaultsOfTheNetwork: whatever happens to the connections, each object is handled; and only
// once, if the server has got the patch.
func TestFaultsOfTheNetwork(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{halfOpen, delayed, cut, failing, busy, unknown, forbidden, expired, truncated, garbage, refusing} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			p := newProxy(t, s.RESTConfig())
			address := porttest.Unused(t)
			op := s.spawnVia(t, p.kubeconfig(t), append(impatient, "--listen", address, "--config", "handlers=create delete")...)
			op.says(t, "Starting the watch-stream for kopfexamples")
			count := sized(10, 100)
			s.createMany(t, "before", count)
			s.manyHandled(t, "before", 0, count)
			waitFor(t, "it is ready", func() bool { return status(address, "/readyz") == http.StatusOK })

			p.inject(f)
			s.createMany(t, "during", count)
			for i := range count / 2 {
				s.remove(t, fmt.Sprintf("before-%d", i))
			}
			if f == failing {
				waitFor(t, "it is not ready", func() bool { return status(address, "/readyz") == http.StatusServiceUnavailable })
			}
			time.Sleep(3 * time.Second)
			if code := status(address, "/livez"); code != http.StatusOK {
				t.Errorf("/livez answers %d: a new process would not help", code)
			}
			p.inject(none)
			lifted := time.Now()
			s.manyHandled(t, "before", count/2, count)
			s.manyHandled(t, "during", 0, count)
			for i := range count / 2 {
				s.gone(t, fmt.Sprintf("before-%d", i))
			}
			t.Logf("%s: recovered %v after the fault", f, time.Since(lifted).Round(10*time.Millisecond))
			waitFor(t, "it is ready again", func() bool { return status(address, "/readyz") == http.StatusOK })
			s.handledOnce(t, p, op, "before", count)
			s.handledOnce(t, p, op, "during", count)
			waitFor(t, "the deleted ones are forgotten", func() bool { return metric(address, "kopf_objects") == fmt.Sprint(count+count/2) })
		})
	}
}

// createMany creates objects with numbered names.
func (s space) createMany(t *testing.T, name string, count int) {
	t.Helper()
	for i := range count {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": map[string]any{"name": fmt.Sprintf("%s-%d", name, i)}, "spec": map[string]any{"field": "one"},
		}}
		if _, err := s.client(examples).Create(t.Context(), object, metav1.CreateOptions{}); err != nil { // a third of the computing of an apply
			t.Fatal(err)
		}
	}
}

// manyHandled waits until the objects from one number to another are handled.
func (s space) manyHandled(t *testing.T, name string, from, to int) {
	t.Helper()
	s.Eventually(t, 2*patience, func() error {
		list, err := s.client(examples).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		missing := map[string]bool{}
		for i := from; i < to; i++ {
			missing[fmt.Sprintf("%s-%d", name, i)] = true
		}
		for _, item := range list.Items {
			if missing[item.GetName()] && notHandled(&item) == nil {
				delete(missing, item.GetName())
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("%d of %d are not handled", len(missing), to-from)
		}
		return nil
	})
}

// handledOnce fails if a handler was called again, unless the server could not know of the
// call before: no patch with its outcome had reached the server, and one was lost on its way.
func (s space) handledOnce(t *testing.T, p *proxy, op *process, name string, count int) {
	t.Helper()
	again := 0
	for i := range count {
		object := fmt.Sprintf("%s-%d", name, i)
		calls := map[string][]call{}
		for _, c := range op.stdout.callsFor(t, object) {
			calls[c.Reason] = append(calls[c.Reason], c)
		}
		if len(calls["create"]) == 0 {
			t.Errorf("%s was never created", object)
		}
		sent := p.sentFor(object)
		for reason, list := range calls {
			again += len(list) - 1
			for n := 1; n < len(list); n++ {
				if err := excused(sent, reason, list[n-1].at(t), list[n].at(t)); err != nil {
					t.Errorf("%s: call %d for %s: %v", object, n+1, reason, err)
				}
			}
		}
	}
	if again > 0 {
		t.Logf("%d of %d handlers were called again, as their patches had not reached the server", again, count)
	}
}

// excused says why a handler must not have been called again, as the server knew of the call
// before, or could have known.
func excused(sent []sentPatch, reason string, before, now time.Time) error {
	lost := 0
	for _, patch := range sent {
		switch {
		case !patch.hasOutcome(reason):
		case patch.reached.IsZero():
			if patch.sent.After(before) && patch.sent.Before(now) {
				lost++
			}
		case patch.reached.Before(now):
			return fmt.Errorf("the server had answered %d to the patch with the outcome: %s", patch.code, patch.body)
		}
	}
	if lost == 0 {
		return errors.New("no patch with the outcome of the call before was lost on its way")
	}
	return nil
}

// hasOutcome tells whether the patch tells the server how the handlers for a reason have ended:
// by the last-handled state, or by the removal of the only finalizer.
func (p *sentPatch) hasOutcome(reason string) bool {
	if reason == "delete" {
		return strings.Contains(p.body, "finalizers") && !strings.Contains(p.body, finalizer)
	}
	return strings.Contains(p.body, lastHandled) || strings.Contains(p.body, strings.ReplaceAll(lastHandled, "/", "~1"))
}

// status is the code of an endpoint; 0 if there is none.
func status(address, path string) int {
	rsp, err := http.Get("http://" + address + path)
	if err != nil {
		return 0
	}
	defer rsp.Body.Close()
	return rsp.StatusCode
}

// metric is the value of a metric without labels; empty if there is none.
func metric(address, name string) string {
	rsp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return ""
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// waitFor waits until a condition holds that no event announces.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still waiting until %s", what)
		}
	}
}

// TestToleratedSecondCalls: what TestFaultsOfTheNetwork demands of a second call.
func TestToleratedSecondCalls(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	outcome := `{"metadata":{"annotations":{"` + lastHandled + `":"{}"}}}`
	tests := []struct {
		name, reason string
		sent         []sentPatch
		excused      bool
	}{
		{"nothing was sent", "create", nil, false},
		{"lost", "create", []sentPatch{{body: outcome, sent: second(2)}}, true},
		{"lost before the first call", "create", []sentPatch{{body: outcome, sent: second(0)}}, false},
		{"lost after the second call", "create", []sentPatch{{body: outcome, sent: second(4)}}, false},
		{"something else was lost", "create", []sentPatch{{body: `{"status":{}}`, sent: second(2)}}, false},
		{"lost, then arrived before the second call", "create", []sentPatch{{body: outcome, sent: second(2)}, {body: outcome, sent: second(2), reached: second(2), code: 200}}, false},
		{"arrived, and the answer was lost", "create", []sentPatch{{body: outcome, sent: second(2), reached: second(2), code: 200}}, false},
		{"arrived, and was refused", "create", []sentPatch{{body: outcome, sent: second(2), reached: second(2), code: 422}}, false},
		{"lost, and arrived after the second call", "create", []sentPatch{{body: outcome, sent: second(2)}, {body: outcome, sent: second(4), reached: second(4), code: 200}}, true},
		{"lost removal of the finalizer", "delete", []sentPatch{{body: `[{"op":"remove","path":"/metadata/finalizers"}]`, sent: second(2)}}, true},
		{"lost addition of the finalizer", "delete", []sentPatch{{body: `[{"op":"add","path":"/metadata/finalizers","value":["` + finalizer + `"]}]`, sent: second(2)}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := excused(test.sent, test.reason, second(1), second(3)); (err == nil) != test.excused {
				t.Errorf("excused: %v", err)
			}
		})
	}
}
