package daemons

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// TestEndsOfDaemons checks the times and the reasons that a daemon gets if it does not
// end.
func TestEndsOfDaemons(t *testing.T) {
	tests := []struct {
		name, options string
		want          string
		abandoned     bool
	}{
		{"no times", ``, "[resource_deleted] 1m0s, [resource_deleted] 1m0s, [resource_deleted] 1m0s", false},
		{"own polling", `"cancellation_polling":5`, "[resource_deleted] 5s, [resource_deleted] 5s, [resource_deleted] 5s", false},
		{"backoff", `"cancellation_backoff":10`, "[resource_deleted daemon_signalled] 10s, [resource_deleted daemon_signalled] 1m0s, [resource_deleted daemon_signalled] 1m0s", false},
		{"no time at all", `"cancellation_timeout":0`, "[resource_deleted daemon_abandoned] over", true},
		{"timeout", `"cancellation_timeout":20`, "[resource_deleted daemon_cancelled] 20s, [resource_deleted daemon_cancelled daemon_abandoned] over", true},
		{
			"both", `"cancellation_backoff":10,"cancellation_timeout":20`,
			"[resource_deleted daemon_signalled] 10s, [resource_deleted daemon_signalled daemon_cancelled] 20s, " +
				"[resource_deleted daemon_signalled daemon_cancelled daemon_abandoned] over", true,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
				options := test.options
				if options != "" {
					options = "," + options
				}
				b := s.newLife(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}`+options+`}`)
				killed := false
				b.kill = func() { killed = true }
				var steps []string
				for range 3 {
					began := time.Now()
					delay := b.stopStep(settings.Default(), abi.StopResourceDeleted)
					reasons := fmt.Sprint(abi.StopNames(b.stopper.Bits()))
					if delay == nil {
						steps = append(steps, reasons+" over")
						break
					}
					steps = append(steps, fmt.Sprintf("%s %v", reasons, *delay))
					time.Sleep(time.Until(began.Add(*delay)))
				}
				if got := strings.Join(steps, ", "); got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
				before := b.stopper.Bits()
				if test.abandoned {
					b.stop(abi.StopOperatorExiting)
				}
				if after := b.stopper.Bits() &^ abi.StopOperatorExiting; after != before {
					t.Errorf("it was abandoned, but then got %v", abi.StopNames(after))
				}
				time.Sleep(abandonGrace + time.Second)
				synctest.Wait()
				if killed != test.abandoned {
					t.Errorf("ended by force: %t, want %t", killed, test.abandoned)
				}
			})
		})
	}
}

// The exit of the operator waits for the patch of a daemon whose handler has returned, but not without an end.
func TestExitWaitsForTheLastPatch(t *testing.T) {
	for _, tt := range []struct {
		name     string
		returned bool
		after    time.Duration // how long the patch takes
		warns    bool
	}{
		{"the handler runs", false, 3 * time.Second, true},
		{"a slow patch", true, 3 * time.Second, false},
		{"a patch that hangs", true, time.Minute, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{}, `{"metadata":{"name":"obj1"}}`)
				b := s.newLife(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
				b.returned.Store(tt.returned)
				time.AfterFunc(tt.after, func() { close(b.done) })
				b.stop(abi.StopOperatorExiting)
				if warned := strings.Contains(s.log.String(), "did not exit in time"); warned != tt.warns {
					t.Errorf("the log says that it did not exit in time: %t, want %t", warned, tt.warns)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// TestDaemonsAreRestartedAfterErrorsOnly runs in virtual time.
func TestDaemonsAreRestartedAfterErrorsOnly(t *testing.T) {
	const later = `{"step":"done","error":{"kind":"temporary","message":"later","delay":5}}`
	tests := []struct {
		name     string
		attempts []string
		want     string // when it is called
		says     string
	}{
		{"a normal end", []string{`{"step":"done"}`}, "[0]", "has exited on its own and will not be retried or restarted"},
		{"a temporary error", []string{later, later, `{"step":"done"}`}, "[0 5 10]", "has exited on its own"},
		{"a permanent error", []string{`{"step":"done","error":{"kind":"permanent","message":"no"}}`}, "[0]", "has exited on its own"},
		{"an arbitrary error", []string{`{"step":"done","error":{"kind":"arbitrary","message":"no"}}`, `{"step":"done"}`}, "[0 60]", "has exited on its own"},
		{"asked to end while it waits", []string{`{"step":"wait","stoppable":true}`}, "[0]", "has exited on request and will not be retried or restarted"},
		{"asked to end between attempts", []string{`{"step":"done","error":{"kind":"temporary","message":"later","delay":500}}`}, "[0]", "has exited on request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Begin: time.Now(), Attempts: test.attempts}, `{"metadata":{"name":"obj1"}}`)
				b := s.newLife(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
				b.start(t.Context())
				time.Sleep(100 * time.Second)
				b.signal(abi.StopResourceDeleted)
				<-b.done
				if got := fmt.Sprint(s.times(t)); got != test.want {
					t.Errorf("called at %s, want %s\n%s", got, test.want, &s.log)
				}
				if !strings.Contains(s.log.String(), test.says) {
					t.Errorf("the log lacks %q:\n%s", test.says, &s.log)
				}
				if s.guest.Alive != 0 {
					t.Errorf("%d tasks are not released", s.guest.Alive)
				}
			})
		})
	}
}

// TestWaitingDaemonsHoldLittle checks that a waiting daemon holds neither a goroutine nor
// a body, and gets the newest body when it needs one.
func TestWaitingDaemonsHoldLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, &reactortest.Scripted{Begin: time.Now(), Attempts: []string{`{"step":"wait","stoppable":true}`}}, `{"metadata":{"name":"obj1"}}`)
		before := runtime.NumGoroutine()
		b := s.newLife(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
		b.start(t.Context())
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if s.guest.Alive != 1 || b.isDone() {
			t.Fatal("it does not wait")
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines, %d before", after, before)
		}
		if b.cause.Raw != nil || b.cause.Body != nil || b.talk.Cause != nil {
			t.Error("it holds a body")
		}
		newest := []byte(`{"metadata":{"name":"obj1"},"spec":{"x":1}}`)
		if err := b.memory.Follow(nil, newest); err != nil {
			t.Fatal(err)
		}
		e := &handling.Env{Cause: b.cause}
		for _, tag := range []uint32{abi.TagBody, abi.TagFresh} {
			if got := string(e.Segment(tag)); got != string(newest) {
				t.Errorf("segment %d is %s", tag, got)
			}
		}
		b.stopper.Set(abi.StopResourceDeleted)
		<-b.done
	})
}

// TestWaitsOfDaemons checks what ends a wait, and which answer the guest gets.
func TestWaitsOfDaemons(t *testing.T) {
	const stopped, cancelled = abi.StopResourceDeleted, abi.StopResourceDeleted | abi.StopDaemonCancelled
	tests := []struct {
		name, wait string
		before     int // reasons before the wait
		during     int // reasons after ten seconds
		force      bool
		want       string // the answer
		seconds    float64
		cancels    int
	}{
		{"its time", `{"step":"wait","seconds":5,"stoppable":true}`, 0, 0, false, `{}`, 5, 0},
		{"no time", `{"step":"wait","seconds":0}`, 0, 0, false, `{}`, 0, 0},
		{"asked to stop", `{"step":"wait","seconds":50,"stoppable":true}`, 0, stopped, false, `{"stopped":["resource_deleted"]}`, 10, 0},
		{"was asked to stop", `{"step":"wait","seconds":50,"stoppable":true}`, stopped, 0, false, `{"stopped":["resource_deleted"]}`, 0, 0},
		{"does not want to know", `{"step":"wait","seconds":50}`, 0, stopped, false, `{}`, 50, 0},
		{"is cancelled", `{"step":"wait","seconds":50}`, 0, cancelled, false, `{"cancelled":true}`, 10, 1},
		{"was cancelled", `{"step":"wait"}`, cancelled, 0, false, `{"cancelled":true}`, 0, 1},
		{"by force", `{"step":"wait"}`, 0, stopped, true, `{"cancelled":true}`, 10, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, &reactortest.Scripted{Begin: time.Now(), Attempts: []string{test.wait}}, `{"metadata":{"name":"obj1"}}`)
				b := s.newLife(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
				ctx, cancel := context.WithCancel(t.Context())
				b.kill = func() { cancel(); b.stopper.Force() }
				b.talk = &handling.Conversation{Execution: s.x, Handler: b.handler, Task: &reactortest.ScriptedTask{Guest: s.guest, ID: "fn"}}
				b.leave, s.guest.Alive = func() {}, 1
				step := &abi.Step{}
				if err := json.Unmarshal([]byte(test.wait), step); err != nil {
					t.Fatal(err)
				}
				b.stopper.Set(test.before)
				began := time.Now()
				go b.live(ctx, func(context.Context) (*sleep, error) { return b.sleepFor(step), nil }) // It is waited for below.
				time.Sleep(10 * time.Second)
				if test.during != 0 {
					b.stopper.Set(test.during)
				}
				if test.force {
					b.kill()
				}
				<-b.done
				if got, err := json.Marshal(s.guest.Answers[0]); err != nil || string(got) != test.want {
					t.Errorf("the answer is %s (%v), want %s", got, err, test.want)
				}
				if took := s.guest.Answered.Sub(began).Seconds(); took != test.seconds {
					t.Errorf("the answer came after %v s, want %v", took, test.seconds)
				}
				if s.guest.Cancelled != test.cancels || s.guest.Alive != 0 {
					t.Errorf("cancelled %d times, %d tasks are not released", s.guest.Cancelled, s.guest.Alive)
				}
			})
		})
	}
}

func TestDaemonsBySettings(t *testing.T) {
	tests := []struct {
		name     string
		settings map[string]string
		asked    time.Duration // until the daemon is asked to stop
		polling  time.Duration
	}{
		{"defaults", nil, time.Second, time.Minute},
		{"a timeout", map[string]string{"background.instant_exit_timeout": "0.5", "background.cancellation_polling": "7"}, 500 * time.Millisecond, 7 * time.Second},
		{"cycles", map[string]string{"background.instant_exit_zero_time_cycles": "3"}, 300 * time.Millisecond, time.Minute},
		{"none", map[string]string{"background.instant_exit_zero_time_cycles": "null"}, 0, time.Minute},
		{"no timeout", map[string]string{"background.instant_exit_timeout": "null"}, time.Second, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := reactortest.SettingsWith(t, tt.settings)
				d := &daemon{
					handler: &registries.Handler{ID: "fn", Spec: abi.Handler{Kind: abi.KindDaemon}}, stopper: stoppers.New(), done: make(chan struct{}),
					kill: func() {}, log: &loggers.Logger{Logger: new(zerolog.Nop())}, instant: instantExit(s.Background),
				}
				began := time.Now()
				delay := d.stopStep(s, abi.StopFiltersMismatch)
				if took := time.Since(began); took != tt.asked {
					t.Errorf("waits %v for the end, want %v", took, tt.asked)
				}
				if delay == nil || *delay != tt.polling {
					t.Errorf("looks again after %v, want %v", delay, tt.polling)
				}
			})
		})
	}
}
