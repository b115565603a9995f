package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/logs"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// options are what an operator of a test is made of. The zero value runs the
// guest "scripted" with its defaults.
type options struct {
	guest    string            // of test/guests/go
	module   string            // a file, instead of a guest
	config   map[string]string // of the guest
	host     host.Options      // limits
	admits   operator.Admission
	noProbe  bool // admit does not wait until the API server asks for reviews
	settings func(*settings.Settings)
	calls    operator.Calls // what the guest is granted
	granted  []string       // settings that it may change
	wanted   bool           // it gets what it wants
	rest     *rest.Config   // who the operator is; the administrator by default
	change   func(*operator.Options)
}

// running is an operator that runs in this process.
type running struct {
	space
	log    *journal // JSON, debug messages included
	stdout *journal // of the guest
	counts func() reactor.Counts
	cancel context.CancelFunc
	ended  chan struct{} // closed when err is set
	err    error         // of operator.Run
}

// start starts an operator for the namespace and waits until it is ready. At the
// end of the test, the operator must stop in order.
func (s space) start(t *testing.T, o options) *running {
	t.Helper()
	r, ready := s.launch(t, o)
	select {
	case <-ready:
	case <-r.ended:
		t.Fatalf("the operator did not start: %v", r.err)
	case <-time.After(patience + o.host.RegisterTimeout):
		t.Fatal("the operator is not ready")
	}
	t.Cleanup(func() { r.stop(t) })
	return r
}

// launch starts an operator. If the test fails, the log of the operator is shown.
func (s space) launch(t *testing.T, o options) (r *running, ready <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r = &running{space: s, log: &journal{}, stdout: &journal{}, cancel: cancel, ended: make(chan struct{})}
	t.Cleanup(func() {
		cancel()
		<-r.ended
		r.show(t)
	})
	started := make(chan struct{})
	config := s.operatorOptions(t, o, r)
	if o.change != nil {
		o.change(&config)
	}
	config.Ready = func() { close(started) }
	config.Counts = func(count func() reactor.Counts) { r.counts = count }
	go func() { // Waited for by the clean-up above.
		defer close(r.ended)
		r.err = operator.Run(ctx, config)
	}()
	return r, started
}

func (s space) operatorOptions(t *testing.T, o options, r *running) operator.Options {
	t.Helper()
	if o.module == "" {
		name := o.guest
		if name == "" {
			name = "scripted"
		}
		o.module = guest(t, name)
	}
	if o.rest == nil {
		o.rest = s.RESTConfig()
	}
	own := settings.Default()
	if o.settings != nil {
		o.settings(own)
	}
	limits := o.host
	limits.Config, limits.Stdout, limits.Stderr = o.config, r.stdout, r.log
	return operator.Options{
		Modules: []string{o.module}, Namespaces: []string{s.namespace}, Host: limits, Settings: own, Admission: o.admits, GrantedSettings: o.granted,
		Calls: o.calls, GrantWanted: o.wanted, AllowOverlap: true, // each is as if in a process of its own
		Log: logs.New(r.log, logs.Options{Format: logs.JSON, Level: zerolog.DebugLevel}),
		Login: func(context.Context) (*credentials.Info, error) {
			return &credentials.Info{Config: o.rest, DefaultNamespace: s.namespace}, nil
		},
	}
}

// stop stops the operator, which must end without an error.
func (r *running) stop(t *testing.T) {
	t.Helper()
	if err := r.end(t); err != nil {
		t.Errorf("the operator ended with an error: %v", err)
	}
}

// end stops the operator, unless it has ended, and returns its error.
func (r *running) end(t *testing.T) error {
	t.Helper()
	r.cancel()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(patience):
		return errors.New("it does not end")
	}
}

// maxShown is how many lines of a log are shown.
const maxShown = 80

func (r *running) show(t *testing.T) {
	if !t.Failed() {
		return
	}
	for name, lines := range map[string][]string{"log": r.log.All(), "standard output": r.stdout.All()} {
		lines = lines[max(0, len(lines)-maxShown):]
		for i, line := range lines {
			lines[i] = line[:min(len(line), 500)]
		}
		t.Logf("%s of the operator:\n%s", name, strings.Join(lines, "\n"))
	}
}

// record is a line of the log.
type record struct {
	Timestamp time.Time
	Message   string
	Severity  string
	Object    struct{ Name, Namespace string }
}

// records are the lines about one object.
func (r *running) records(name string) []record {
	var found []record
	for _, line := range r.log.All() {
		var rec record
		if json.Unmarshal([]byte(line), &rec) == nil && rec.Object.Name == name {
			found = append(found, rec)
		}
	}
	return found
}

// messages are the messages about one object, with their severities: "info: text".
func (r *running) messages(name string) []string {
	var found []string
	for _, rec := range r.records(name) {
		found = append(found, rec.Severity+": "+rec.Message)
	}
	return found
}

// says waits until there is a message about an object that contains the text,
// and returns it.
func (r *running) says(t *testing.T, name, text string) string {
	t.Helper()
	var message string
	r.until(t, "the log says "+text, func() bool {
		for _, m := range r.messages(name) {
			if strings.Contains(m, text) {
				message = m
				return true
			}
		}
		return false
	})
	return message
}

// silent fails if there is a message about an object that contains the text.
func (r *running) silent(t *testing.T, name, text string) {
	t.Helper()
	for _, m := range r.messages(name) {
		if strings.Contains(m, text) {
			t.Errorf("unexpected message about %s: %s", name, m)
		}
	}
}

// called waits until the handlers were called for the object at least so many
// times, and returns the calls.
func (r *running) called(t *testing.T, name string, times int) []call {
	t.Helper()
	var calls []call
	r.until(t, "handlers are called for "+name, func() bool {
		calls = r.stdout.callsFor(t, name)
		return len(calls) >= times
	})
	return calls
}
