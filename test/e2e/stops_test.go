package e2e_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// TestStopInTheMiddle: whatever an operator is doing when it is stopped, it ends
// in order, soon, and nothing of it runs afterwards.
//
// It does not run in parallel with other tests, as it looks at the goroutines of the process.
func TestStopInTheMiddle(t *testing.T) { //nolint:paralleltest // see above
	tests := []struct {
		handlers, do string
		busy         string // what the guest prints then
	}{
		{"startup create cleanup", "startup sleeps", `"activity":"startup"`},
		{"startup create cleanup", "startup spins", `"activity":"startup"`},
		{"login create", "login sleeps", `"activity":"authentication"`},
		{"login create", "login spins", `"activity":"authentication"`},
		{"probe create", "probe sleeps", `"activity":"probe"`},
		{"probe create", "probe spins", `"activity":"probe"`},
		{"index create", "index sleeps", `"handler":"indexFn"`},
		{"index create", "index spins", `"handler":"indexFn"`},
		{"create", "memo sleeps", `"handler":"createFn"`},
		{"create", "memo spins", `"handler":"createFn"`},
		{"daemon", "spin", `"handler":"daemonFn"`},
		{"daemon", "spin later", `"handler":"daemonFn"`},
		{"daemon", "immortal", `"handler":"daemonFn"`},
		{"daemon", "panic", `"handler":"daemonFn"`},
		{"timer", "sleep", `"handler":"timerFn"`},
		{"timer", "spin", `"handler":"timerFn"`},
		{"background", "background ignores", `"handler":"backgroundFn"`},
	}
	for _, test := range tests {
		t.Run(test.do, func(t *testing.T) {
			s := newSpace(t)
			url := "http://" + porttest.Unused(t) + "/healthz"
			s.create(t, "obj1", "{key: x}")
			op, _ := s.launch(t, options{
				guest: "living", config: map[string]string{"handlers": test.handlers, "do": test.do},
				host: host.Options{ComputeLimit: time.Second}, // daemons and timers are waited for until then
				settings: func(s *settings.Settings) {
					s.Queueing.ExitTimeout = 300 * time.Millisecond
					s.Process.UltimateExitingTimeout = 0 // it has to do without
				},
				change: func(o *operator.Options) { o.Liveness = url },
			})
			asked := make(chan struct{})
			go func() { // Waited for below.
				defer close(asked)
				for op.lines(test.busy) == 0 {
					if _, _, err := ask(t, url, patience); err != nil {
						time.Sleep(50 * time.Millisecond)
					}
				}
			}()
			op.until(t, "it is busy", func() bool { return op.lines(test.busy) > 0 })
			if nothingRuns() == nil {
				t.Error("nothing is seen of an operator that runs")
			}
			op.stop(t)
			<-asked
			s.eventually(t, nothingRuns)
			s.patch(t, "obj1", `{"metadata":{"finalizers":null}}`)
		})
	}
}

// nothingRuns says what of an operator still runs in this process. Idle connections are left out: they stay open for 90 seconds.
func nothingRuns() error {
	stacks := make([]byte, 8<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "net/http.(*persistConn)") || strings.Contains(stack, "http2.(*ClientConn)") || strings.Contains(stack, "http2.(*clientConnReadLoop)") {
			continue
		}
		for _, room := range []string{"reactor", "host", "operator", "webhooks"} {
			if strings.Contains(stack, "github.com/kopf-wasm/kopf/"+room) {
				return errors.New("this still runs:\n" + stack)
			}
		}
	}
	return nil
}
