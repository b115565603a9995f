package handling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// TestAttempt follows the table of errors in Kopf's documentation:
// https://docs.kopf.dev/en/latest/errors/
func TestAttempt(t *testing.T) {
	const never = -1.0
	tests := []struct {
		name    string
		options string
		step    string
		retries int
		runtime time.Duration
		final   bool
		failed  bool
		delay   float64 // never: none
		message string
		log     string
	}{
		{name: "success", step: `{"step":"done"}`, final: true, delay: never, log: "Handler 'fn' succeeded."},
		{
			name: "temporary", step: `{"step":"done","error":{"kind":"temporary","message":"later","delay":10}}`,
			failed: true, delay: 10, message: "later", log: "Handler 'fn' failed temporarily: later",
		},
		{
			name: "temporary by default", step: `{"step":"done","error":{"kind":"temporary","message":"later"}}`,
			failed: true, delay: 60, message: "later",
		},
		{
			name: "temporary at once", step: `{"step":"done","error":{"kind":"temporary","message":"now","delay":null}}`,
			failed: true, delay: never, message: "now",
		},
		{
			name: "temporary, the last one", options: `"retries":3`, retries: 2, step: `{"step":"done","error":{"kind":"temporary","message":"later","delay":1}}`,
			final: true, failed: true, delay: never, message: "Handler 'fn' failed temporarily but will exceed 3 retries: later",
		},
		{
			name: "temporary, beyond the timeout", options: `"timeout":5`, runtime: 3 * time.Second, step: `{"step":"done","error":{"kind":"temporary","message":"later","delay":2}}`,
			final: true, failed: true, delay: never, message: "Handler 'fn' failed temporarily but will time out after 5 seconds: later",
		},
		{
			name: "permanent", step: `{"step":"done","error":{"kind":"permanent","message":"no"}}`,
			final: true, failed: true, delay: never, message: "no", log: "Handler 'fn' failed permanently: no",
		},
		{
			name: "admission", step: `{"step":"done","error":{"kind":"admission","message":"no"}}`,
			final: true, failed: true, delay: never, message: "no",
		},
		{
			name: "arbitrary", step: `{"step":"done","error":{"kind":"arbitrary","message":"boo","stack":"at main.fn"}}`,
			failed: true, delay: 60, message: "boo", log: "Handler 'fn' failed with an exception and will try again in 60 seconds: boo\\nat main.fn",
		},
		{
			name: "arbitrary without a message", step: `{"step":"done","error":{"kind":"arbitrary","message":"","type":"*main.ValueError[a.b]"}}`,
			failed: true, delay: 60, message: "", log: "try again in 60 seconds: ValueError()",
		},
		{
			name: "permanent without a message", step: `{"step":"done","error":{"kind":"permanent","message":"","type":"Refused(a.b)"}}`,
			final: true, failed: true, delay: never, message: "", log: "Handler 'fn' failed permanently: Refused(a.b)",
		},
		{
			name: "arbitrary with a backoff", options: `"backoff":1.5`, step: `{"step":"done","error":{"kind":"arbitrary","message":"boo"}}`,
			failed: true, delay: 1.5, message: "boo", log: "try again in 1.5 seconds",
		},
		{
			name: "arbitrary, ignored", options: `"errors":"IGNORED"`, step: `{"step":"done","error":{"kind":"arbitrary","message":"boo"}}`,
			final: true, delay: never, log: "will ignore it: boo",
		},
		{
			name: "arbitrary, permanent", options: `"errors":"PERMANENT"`, step: `{"step":"done","error":{"kind":"arbitrary","message":"boo"}}`,
			final: true, failed: true, delay: never, message: "boo", log: "will stop now: boo",
		},
		{
			name: "arbitrary, the last one", options: `"retries":1`, step: `{"step":"done","error":{"kind":"arbitrary","message":"boo"}}`,
			final: true, failed: true, delay: never,
			message: "Handler 'fn' failed with an exception and will stop now (it would exceed 1 retries on the next attempt): boo",
		},
		{
			name: "arbitrary, beyond the timeout", options: `"timeout":30`, step: `{"step":"done","error":{"kind":"arbitrary","message":"boo"}}`,
			final: true, failed: true, delay: never,
			message: "Handler 'fn' failed with an exception and will stop now (it would time out in 30 seconds on the next attempt): boo",
		},
		{name: "too many attempts", options: `"retries":2`, retries: 2, final: true, failed: true, delay: never, message: "Handler 'fn' has exceeded 2 retries."},
		{name: "too late", options: `"timeout":2`, runtime: 3 * time.Second, final: true, failed: true, delay: never, message: "Handler 'fn' has timed out after 0:00:03."},
		{name: "an unknown step", step: `{"step":"dance"}`, failed: true, delay: 60, message: `guest failed: an unknown step "dance"`},
		{name: "a patch that is not an object", step: `{"step":"done","patch":[1]}`, failed: true, delay: 60, message: "guest failed: the patch of 'fn'"},
		{
			name: "children that are not pending", step: `{"step":"done","error":{"kind":"children","message":""}}`, failed: true, delay: 60,
			message: "the handler says that its children are pending, but they are not",
		},
		{name: "a request", step: `{"step":"call","call":{"target":"http","method":"GET","path":"/"}}`, final: true, delay: never},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {tt.step}}}
				s := newStage(t, guest, `{"metadata":{"name":"n"}}`)
				options := ""
				if tt.options != "" {
					options = "," + tt.options
				}
				h := s.handler(t, `{"id":"fn","resource":{"args":["x"]}`+options+`}`)
				got, err := s.x.Attempt(t.Context(), h, s.cause, fresh(tt.retries, tt.runtime))
				if err != nil {
					t.Fatal(err)
				}
				delay := never
				if got.delay != nil {
					delay = got.delay.Seconds()
				}
				if got.final != tt.final || got.Failed != tt.failed || delay != tt.delay || !strings.HasPrefix(got.Message, tt.message) {
					t.Errorf("got %+v with the delay %v; want final %v, failed %v, delay %v, message %q", got, delay, tt.final, tt.failed, tt.delay, tt.message)
				}
				if !strings.Contains(s.log.String(), tt.log) {
					t.Errorf("the log has no %q:\n%s", tt.log, s.log.String())
				}
				if guest.Alive != 0 {
					t.Errorf("%d tasks are not released", guest.Alive)
				}
			})
		})
	}
}

type stackedError struct{ error }

func (stackedError) GuestStack() string { return "in main.fn" }

func TestAttemptOfFailedGuest(t *testing.T) {
	guest := &reactortest.Scripted{Fails: map[string]error{"fn": stackedError{errors.New("unreachable")}}}
	s := newStage(t, guest, `{}`)
	got, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0))
	if err != nil || got.final || got.Message != "unreachable" {
		t.Errorf("got %+v, %v; want a retry with the guest's message", got, err)
	}
	if !strings.Contains(s.log.String(), `unreachable\nin main.fn`) {
		t.Errorf("the log has no stack: %s", s.log.String())
	}
}

func TestWaitingHandlerIsResumedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"wait","seconds":2.5}`, `{"step":"done","result":1}`}}}
		s := newStage(t, guest, `{}`)
		begin := time.Now()
		got, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0))
		if err != nil || !got.final || fmt.Sprint(got.Result) != "1" || time.Since(begin) != 2500*time.Millisecond {
			t.Errorf("got %+v, %v after %v", got, err, time.Since(begin))
		}
		if diff := cmp.Diff([]abi.Answer{{}}, guest.Answers); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

func TestWaitingHandlerIsCancelledAtExit(t *testing.T) {
	for name, script := range map[string][]string{
		"it cleans up":    {`{"step":"wait"}`, `{"step":"wait","seconds":1}`, `{"step":"done","patch":{"x":1}}`},
		"it never agrees": strings.Split(strings.Repeat(`{"step":"wait"};`, 1000), ";"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": script}}
				s := newStage(t, guest, `{}`)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := s.x.Attempt(ctx, s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0))
				if !errors.Is(err, context.DeadlineExceeded) || guest.Cancelled != 1 || guest.Alive != 0 {
					t.Errorf("error %v, cancelled %d times, %d tasks left", err, guest.Cancelled, guest.Alive)
				}
				if len(guest.Answers) == 0 || !guest.Answers[0].Cancelled {
					t.Errorf("the task got no answer: %+v", guest.Answers)
				}
				if !s.cause.Patch.Merge.IsEmpty() {
					t.Errorf("a cancelled handler has left a patch: %v", s.cause.Patch.Merge.Object())
				}
			})
		})
	}
}

func TestTransformationsKeepTheirTask(t *testing.T) {
	guest := &reactortest.Scripted{Scripts: map[string][]string{"fn": {`{"step":"done","transforms":1}`}}}
	guest.Edits = func(body map[string]any) { body["edited"] = true }
	s := newStage(t, guest, `{"metadata":{"name":"n"}}`)
	if _, err := s.x.Attempt(t.Context(), s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`), s.cause, fresh(0, 0)); err != nil {
		t.Fatal(err)
	}
	if guest.Alive != 1 {
		t.Fatalf("%d tasks are alive, want 1", guest.Alive)
	}
	edited, err := s.cause.Patch.Transformed(t.Context(), s.cause.Body, nil)
	if err != nil || edited["edited"] != true || s.cause.Body["edited"] != nil {
		t.Errorf("edited %v, body %v, %v", edited, s.cause.Body, err)
	}
	s.cause.Patch.Release(t.Context(), 0)
	if guest.Alive != 0 {
		t.Errorf("the task is not released with the patch")
	}
}

// TestNoRoomIsTemporary checks that a handler for which the host has no room is retried
// soon, regardless of its options for other errors.
func TestNoRoomIsTemporary(t *testing.T) {
	failure := (&guestError{fmt.Errorf("op.wasm: instance: %w: too many", abi.ErrNoRoom)}).asError()
	if failure.Kind != abi.ErrorTemporary || failure.Delay != abi.DelayOf(noRoomDelay) {
		t.Errorf("%+v", failure)
	}
}
