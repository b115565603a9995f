package e2e_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
)

// exitTimeout is the configuration of an operator that gives running handlers
// this many seconds when it exits.
func exitTimeout(seconds string) string {
	return `settings={"queueing.exit_timeout":` + seconds + `}`
}

// sleeping starts an operator with a handler that is in the middle of a long sleep.
func sleeping(t *testing.T, timeout, spec string) *process {
	t.Helper()
	p := newSpace(t).run(t, "--config", exitTimeout(timeout))
	p.create(t, "obj1", spec)
	p.until(t, "the handler sleeps", func() bool { return len(p.stdout.With(`"create_fn"`)) > 0 })
	return p
}

func TestExitWhenIdle(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSpace(t).run(t)
			p.create(t, "obj1", "{}")
			p.handled(t, "obj1")
			began := time.Now()
			p.signal(t, sig)
			if code := p.exits(t); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			if took := time.Since(began); took > prompt {
				t.Errorf("it took %v to exit", took)
			}
		})
	}
}

// TestExitWhileStarting: an early stop is not a failure.
func TestExitWhileStarting(t *testing.T) {
	t.Parallel()
	t.Run("loading", func(t *testing.T) {
		t.Parallel()
		op, _ := newSpace(t).launch(t, options{host: host.Options{CacheDir: host.CacheOff}}) // so it takes a second
		time.Sleep(100 * time.Millisecond)
		op.stop(t)
	})
	t.Run("startup handlers", func(t *testing.T) {
		t.Parallel()
		p := newSpace(t).spawn(t, "--config", "startup=10m")
		p.says(t, "Activity 'startupFn' is invoked.")
		p.signal(t, syscall.SIGTERM)
		if code := p.exits(t); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		if len(p.stderr.With("WARNING", "Startup activity is only partially executed due to cancellation.")) != 1 {
			t.Error("it does not say so")
		}
		if errs := p.stderr.With("rror"); len(errs) > 0 {
			t.Errorf("errors: %q", errs)
		}
	})
}

func TestExitFinishesRunningHandlers(t *testing.T) {
	t.Parallel()
	p := sleeping(t, "20", "{do: sleep, seconds: 2}")
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if err := notHandled(p.get(t, "obj1")); err != nil {
		t.Errorf("after the exit: %v", err)
	}
	if len(p.stdout.With(`"slept"`)) != 1 || len(p.stdout.With(`"cancelled"`)) != 0 {
		t.Errorf("the handler was not left alone:\n%s", p.stdout)
	}
}

func TestExitCancelsLongHandlers(t *testing.T) {
	t.Parallel()
	p := sleeping(t, "0.5", "{do: sleep, seconds: 600}")
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if annotations := p.get(t, "obj1").GetAnnotations(); len(annotations) > 0 {
		t.Errorf("a cancelled handler has left %v", annotations)
	}
	if len(p.stdout.With(`"cancelled"`)) != 1 {
		t.Errorf("the handler does not know that it is cancelled:\n%s", p.stdout)
	}
	p.patch(t, "obj1", `{"spec":{"do":null}}`)
	next := p.run(t)
	p.handled(t, "obj1")
	calls := next.stdout.callsFor(t, "obj1")
	if len(calls) != 1 || calls[0].Handler != "create_fn" || calls[0].Retry != 0 {
		t.Errorf("calls after the restart: %+v, want the creation from its beginning", calls)
	}
}

func TestSecondSignalForces(t *testing.T) {
	t.Parallel()
	p := sleeping(t, "600", "{do: sleep, seconds: 600}")
	p.signal(t, syscall.SIGTERM)
	p.says(t, "Signal SIGTERM is received. Operator is stopping.")
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if err := notHandled(p.get(t, "obj1")); err == nil {
		t.Error("the object is handled by a handler that was interrupted")
	}
}

// TestExitThatTakesTooLong: what holds up the graceful exit ends the process with a code of its
// own, after the time that a flag or a startup handler has set.
func TestExitThatTakesTooLong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
	}{
		{"a cleanup handler sleeps", []string{"--config", "handlers=create cleanup", "--config", "do=cleanup sleeps", "--set", "process.ultimate_exiting_timeout=1"}},
		{"a cleanup handler fails again and again", []string{"--config", "handlers=create cleanup", "--config", "do=cleanup fails", "--set", "process.ultimate_exiting_timeout=1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			p := s.spawnModule(t, guest(t, "living"), test.args...)
			s.create(t, "obj1", "{key: x}")
			s.handled(t, "obj1")
			p.signal(t, syscall.SIGTERM)
			if code := p.exits(t); code != 124 {
				t.Errorf("exit code %d, want 124", code)
			}
			if len(p.stdout.With(`"activity":"cleanup"`)) == 0 {
				t.Error("the cleanup handler was not called")
			}
			if len(p.stderr.With("Error: the operator does not exit: still not done after 1s")) != 1 {
				t.Error("it does not say why")
			}
		})
	}
	t.Run("set by a startup handler, a handler runs", func(t *testing.T) {
		t.Parallel()
		p := newSpace(t).run(t, "--config", `settings={"queueing.exit_timeout":600,"process.ultimate_exiting_timeout":1}`)
		p.create(t, "obj1", "{do: sleep, seconds: 600}")
		p.until(t, "the handler sleeps", func() bool { return len(p.stdout.With(`"create_fn"`)) > 0 })
		p.signal(t, syscall.SIGTERM)
		if code := p.exits(t); code != 124 {
			t.Errorf("exit code %d, want 124", code)
		}
		if annotations := p.get(t, "obj1").GetAnnotations(); len(annotations) > 0 {
			t.Errorf("a handler that was left behind has left %v", annotations)
		}
	})
}

func TestStreams(t *testing.T) {
	t.Parallel()
	p := newSpace(t).run(t, "--log-format", "plain", "--log-prefix")
	p.create(t, "obj1", "{do: log}")
	p.handled(t, "obj1")
	p.signal(t, syscall.SIGTERM)
	p.exits(t)
	for _, line := range p.stdout.All() {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line in the standard output that is not of the guest: %q", line)
		}
	}
	if calls := p.stdout.callsFor(t, "obj1"); len(calls) != 1 {
		t.Errorf("standard output: %q, want one call", p.stdout)
	}
	prefix := "[" + p.namespace + "/obj1] "
	for _, want := range []string{"an ordinary message", "Handler 'create_fn' succeeded.", "Creation is processed: 1 succeeded; 0 failed."} {
		if len(p.stderr.With(prefix+want)) != 1 {
			t.Errorf("standard error lacks %q", prefix+want)
		}
	}
	if strings.Contains(p.stdout.String(), "Creation is processed") {
		t.Error("the log is in the standard output, too")
	}
}
