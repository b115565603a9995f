package e2e_test

import (
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
// this object. It is retried, and everybody else goes on.
func TestHostileHandlers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{host: limits})
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
			name := strings.ReplaceAll(test.do, " ", "-")
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
			s.create(t, name+"-neighbour", "{}")
			s.handled(t, name+"-neighbour")
			s.handled(t, name)
			if calls := op.stdout.callsFor(t, name); len(calls) != 2 || calls[1].Retry != 1 {
				t.Errorf("calls = %+v, want two attempts", calls)
			}
		})
	}
}

// TestBreaches: what breaks the contract is an error of the handler, too.
func TestBreaches(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{guest: "raw", host: limits})
	for do, want := range map[string]string{
		"nonsense":     "broken message: invalid character",
		"outside":      "broken message: it lies outside of the memory",
		"huge":         "broken message: it has 9437211 bytes, the limit is 8388608",
		"deep":         "broken message",
		"unknown step": `broken message: unknown step "dance"`,
		"list patch":   "broken message: a patch that is not an object",
		"no resume":    "missing export: kopf_resume",
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(do, " ", "-")
			s.create(t, name, "{do: "+do+"}")
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
}

// TestSpinningDisturbsNobody: other objects are handled while a handler computes
// for ever, and the operator can exit.
func TestSpinningDisturbsNobody(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{host: host.Options{ComputeLimit: time.Hour}, settings: func(s *settings.Settings) {
		s.Queueing.ExitTimeout = 100 * time.Millisecond
	}})
	s.create(t, "spinner", "{do: spin}")
	op.called(t, "spinner", 1)
	names := []string{"first", "second", "third"}
	for _, name := range names {
		s.create(t, name, "{}")
	}
	for _, name := range names {
		s.handled(t, name)
	}
	op.stop(t)
	if annotations := s.get(t, "spinner").GetAnnotations(); len(annotations) > 0 {
		t.Errorf("a handler that was stopped has left %v", annotations)
	}
}

// TestLogIsLimited: what is over the limit is dropped, and that is said once.
func TestLogIsLimited(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, options{host: host.Options{LogLimit: 310_000}})
	s.create(t, "obj1", "{do: shout}")
	s.handled(t, "obj1")
	lines, bytes, warnings := 0, 0, 0
	for _, message := range op.messages("obj1") {
		switch {
		case strings.HasPrefix(message, "info: shout"):
			lines++
			bytes += len(message)
		case strings.Contains(message, "wrote more than 310000 bytes"):
			warnings++
		}
	}
	if lines != 5 || bytes > 310_000 || warnings != 1 {
		t.Errorf("%d lines of %d bytes, %d warnings; want 5 lines and one warning", lines, bytes, warnings)
	}
}
