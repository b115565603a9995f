package reactor

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// TestEndsOfDaemons are about what a daemon is told when, if it does not end: each
// step is the time and the reasons so far.
func TestEndsOfDaemons(t *testing.T) {
	tests := []struct {
		name, options string
		want          string
		abandoned     bool
	}{
		{"no times", ``, "[resource_deleted] 1m0s, [resource_deleted] 1m0s, [resource_deleted] 1m0s", false},
		{"own polling", `"cancellation_polling":5`, "[resource_deleted] 5s, [resource_deleted] 5s, [resource_deleted] 5s", false},
		{"backoff", `"cancellation_backoff":10`, "[resource_deleted daemon_signalled] 10s, [resource_deleted daemon_signalled] 1m0s, [resource_deleted daemon_signalled] 1m0s", false},
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
				s := newStage(t, &scripted{begin: time.Now()}, `{"metadata":{"name":"obj1"}}`)
				options := test.options
				if options != "" {
					options = "," + options
				}
				b := s.beside(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}`+options+`}`)
				killed := false
				b.kill = func() { killed = true }
				var steps []string
				for range 3 {
					began := time.Now()
					delay := b.stopStep(settings.Default(), abi.StopResourceDeleted)
					reasons := fmt.Sprint(abi.StopNames(b.stopper.bits()))
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
				time.Sleep(abandonGrace + time.Second)
				synctest.Wait()
				if killed != test.abandoned {
					t.Errorf("ended by force: %t, want %t", killed, test.abandoned)
				}
			})
		})
	}
}

// TestDaemonsAreRestartedAfterErrorsOnly in virtual time.
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
		{"told to end while it waits", []string{`{"step":"wait","stoppable":true}`}, "[0]", "has exited on request and will not be retried or restarted"},
		{"told to end between attempts", []string{`{"step":"done","error":{"kind":"temporary","message":"later","delay":500}}`}, "[0]", "has exited on request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, &scripted{begin: time.Now(), attempts: test.attempts}, `{"metadata":{"name":"obj1"}}`)
				b := s.beside(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
				go b.run(t.Context()) // Waited for below.
				time.Sleep(100 * time.Second)
				b.signal(abi.StopResourceDeleted)
				<-b.done
				if got := fmt.Sprint(s.times(t)); got != test.want {
					t.Errorf("called at %s, want %s\n%s", got, test.want, &s.log)
				}
				if !strings.Contains(s.log.String(), test.says) {
					t.Errorf("the log lacks %q:\n%s", test.says, &s.log)
				}
				if s.guest.alive != 0 {
					t.Errorf("%d tasks are not released", s.guest.alive)
				}
			})
		})
	}
}

// TestWaitingDaemonsHoldNoBody, and get the newest one when they need it.
func TestWaitingDaemonsHoldNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, &scripted{begin: time.Now(), attempts: []string{`{"step":"wait","stoppable":true}`}}, `{"metadata":{"name":"obj1"}}`)
		b := s.beside(t, `{"kind":"daemon","id":"fn","resource":{"args":["x"]}}`)
		go b.run(t.Context()) // Waited for below.
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if b.cause.raw != nil || b.cause.body != nil {
			t.Error("it holds a body")
		}
		newest := []byte(`{"metadata":{"name":"obj1"},"spec":{"x":1}}`)
		b.memory.background.follow(newest)
		e := &env{cause: b.cause}
		for _, tag := range []uint32{abi.TagBody, abi.TagFresh} {
			if got := string(e.Segment(tag)); got != string(newest) {
				t.Errorf("segment %d is %s", tag, got)
			}
		}
		b.stopper.set(abi.StopResourceDeleted)
		<-b.done
	})
}
