package host

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// turnsGuest is an operator in Go.
var turnsGuest = sync.OnceValues(func() ([]byte, error) { return buildGo("../test/guests/go/turns") })

func loadTurns(t *testing.T) *Module {
	t.Helper()
	wasm, err := turnsGuest()
	if err != nil {
		t.Fatal(err)
	}
	return loaded(t, "turns.wasm", wasm, Options{})
}

// objectThat is an object whose handler does something.
func objectThat(do string) []byte { return []byte(`{"spec":{"do":"` + do + `"}}`) }

// TestTurnsOfGoHandlers: handlers of the Go SDK are coroutines of the calls of the host, whatever they do with goroutines.
func TestTurnsOfGoHandlers(t *testing.T) {
	m := loadTurns(t)
	for range 3 { // on the same instance, as far as it is kept
		for _, test := range []struct {
			do            string
			waits         int
			result, error string
		}{
			{"goroutines", 15, "[true,true,true,true,true]", ""},
			{"lock", 1, `"locked"`, ""},
			{"end", 0, "", "the goroutine of the handler ended without a return"},
			{"panic", 1, "", "panic: "},
		} {
			t.Run(test.do, func(t *testing.T) {
				task, step, err := m.Start(t.Context(), creation(), objectThat(test.do), &testEnv{})
				waits := 0
				for ; err == nil && step.Step == abi.StepWait; waits++ {
					step, err = task.Resume(t.Context(), abi.Answer{})
				}
				if err != nil {
					t.Fatal(err)
				}
				defer task.Release(t.Context())
				message := ""
				if step.Error != nil {
					message = step.Error.Message
				}
				if waits != test.waits || string(step.Result) != test.result || !strings.HasPrefix(message, test.error) || (test.error == "") != (message == "") {
					t.Errorf("%d waits, the result %s, the error %q, want %d, %s, %q", waits, step.Result, message, test.waits, test.result, test.error)
				}
			})
		}
	}
	if failed := m.Usage().Failed; failed != 0 {
		t.Errorf("%d calls have destroyed their instance", failed)
	}
}

// TestGoroutinesSpeakForNoOtherObject: a goroutine that outlives its handler cannot take the turn of the next handler, which is about
// another object.
func TestGoroutinesSpeakForNoOtherObject(t *testing.T) {
	m := loadTurns(t)
	for _, test := range []struct{ do, result string }{
		{"leave", `"left"`}, {"meet", `"context canceled; the handler has ended: its goroutines can ask the host for nothing"`}, {"nothing", "null"},
	} {
		task, step, err := m.Start(t.Context(), creation(), objectThat(test.do), &testEnv{})
		if err != nil {
			t.Fatal(err)
		}
		if step.Step != abi.StepDone || string(step.Result) != test.result && test.do != "nothing" {
			t.Errorf("%s: the step %+v", test.do, step)
		}
		task.Release(t.Context())
	}
}

func TestDeadlocksOfGoHandlers(t *testing.T) {
	_, _, err := loadTurns(t).Start(t.Context(), creation(), objectThat("deadlock"), &testEnv{})
	if !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), "all goroutines are asleep") {
		t.Errorf("error = %v", err)
	}
}
