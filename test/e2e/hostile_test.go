package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// limits are small ones for hostile handlers.
var limits = host.Options{ComputeLimit: 3 * time.Second, MaxMemory: 96 << 20}

const retried = "error: Handler 'create_fn' failed with an exception and will try again in 1 seconds: "

// TestHostileHandlers: whatever a handler does, it is an error of this handler for
// this object. It is retried, and all other objects are handled.
func TestHostileHandlers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{host: limits})
	neighbour, stop := s.neighbour(t)
	defer stop()
	tests := []struct {
		do    string
		want  string // in the message
		stack string // below it
	}{
		{"arbitrary", "something is wrong", ""},
		{"panic", "panic: the script wants a panic", "script.go"},
		{"spin", "scripted.wasm: kopf_start: computed too long: more than 3s", "main.harm"},
		{"exit", "scripted.wasm: kopf_start: exited with code 3", ""},
		{"eat", "out of memory", "main.harm"},
		{"recurse", "scripted.wasm: kopf_start: ", "main.recurse"},
	}
	for _, test := range tests {
		t.Run(test.do, func(t *testing.T) {
			name, before := strings.ReplaceAll(test.do, " ", "-"), neighbour.count()
			s.create(t, name, "{do: "+test.do+", times: 1}")
			message := op.says(t, name, "failed with an exception")
			if !strings.HasPrefix(message, retried) || !strings.Contains(message, test.want) {
				t.Errorf("message %q, want %q", message, retried+test.want)
			}
			if _, stack, _ := strings.Cut(message, "\n"); !strings.Contains(stack, test.stack) {
				t.Errorf("stack %q, want one with %s", stack, test.stack)
			}
			stored := s.progress(t, name, "create_fn", func(p progress) bool { return p.Retries == 1 })
			if stored.Failure || stored.Success || !strings.Contains(stored.Message, test.want) {
				t.Errorf("progress = %+v", stored)
			}
			s.handled(t, name)
			t.Log(neighbour.since(before))
			if neighbour.count() == before {
				t.Error("the neighbour was kept waiting")
			}
			if calls := op.stdout.callsFor(t, name); len(calls) != 2 || calls[1].Retry != 1 {
				t.Errorf("calls = %+v, want two attempts", calls)
			}
		})
	}
}

// TestBrokenContractIsHandlerError: what breaks the contract is an error of the handler, too.
func TestBrokenContractIsHandlerError(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{guest: "raw", host: limits})
	neighbour, stop := s.neighbour(t)
	defer stop()
	breaches := map[string]string{
		"nonsense":     "broken message: invalid character",
		"outside":      "broken message: it lies outside of the memory",
		"huge":         "broken message: it has 9437211 bytes, the limit is 8388608",
		"deep":         "broken message",
		"unknown step": `broken message: unknown step "dance"`,
		"list patch":   "broken message: a patch that is not an object",
		"no resume":    "missing export: kopf_resume",
	}
	nameOf := func(do string) string { return strings.ReplaceAll(do, " ", "-") }
	for do := range breaches { // all at the same time
		s.create(t, nameOf(do), "{do: "+do+"}")
	}
	for do, want := range breaches {
		t.Run(do, func(t *testing.T) {
			name := nameOf(do)
			message := op.says(t, name, "failed with an exception and will try again in 1 seconds: ")
			if !strings.Contains(message, want) || !strings.Contains(message, "raw.wasm") {
				t.Errorf("message %q, want %q", message, want)
			}
			s.patch(t, name, `{"spec":{"do":null}}`)
			if status := s.handled(t, name).Object["status"]; status == nil {
				t.Error("no result of the next attempt")
			}
		})
	}
	if neighbour.count() == 0 {
		t.Error("the neighbour was kept waiting")
	}
}

// TestSpinningHandlerBlocksNoOther: other objects are handled while a handler computes
// for ever, and the operator can exit.
func TestSpinningHandlerBlocksNoOther(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{host: host.Options{ComputeLimit: time.Hour}, settings: func(s *settings.Settings) {
		s.Queueing.ExitTimeout = 100 * time.Millisecond
	}})
	s.create(t, "spinner", "{do: spin}")
	op.called(t, "spinner", 1)
	var times []time.Duration
	for i := range 5 {
		began, name := time.Now(), fmt.Sprintf("neighbour-%d", i)
		s.create(t, name, "{}")
		s.handled(t, name)
		times = append(times, time.Since(began))
	}
	t.Logf("meanwhile, other objects were handled after %v", times)
	op.stop(t)
	if annotations := s.get(t, "spinner").GetAnnotations(); len(annotations) > 0 {
		t.Errorf("a handler that was stopped has left %v", annotations)
	}
}

// TestLogIsLimited: what is over the limit of a second is dropped, and counted.
func TestLogIsLimited(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{host: host.Options{LogLimit: 310_000}})
	s.create(t, "obj1", "{do: shout}") // 100 lines of 60,000 bytes
	s.handled(t, "obj1")
	op.stop(t)
	lines, dropped := 0, 0
	for _, message := range op.messages("obj1") {
		if strings.HasPrefix(message, "info: shout") {
			lines++
		}
	}
	for _, line := range op.log.With("lines dropped") {
		var record struct{ Lines int }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Error(err)
		}
		dropped += record.Lines
	}
	if lines < 5 || lines > 50 || lines+dropped != 100 {
		t.Errorf("%d lines, and %d are said to be dropped, of 100", lines, dropped)
	}
}
