package e2e_test

import (
	"syscall"
	"testing"
	"time"
)

// TestExitDuringListing: the stop signal comes while a long listing with daemons is handled.
// The daemons that run by then are stopped, and no other one begins.
func TestExitDuringListing(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	const objects = 3000
	s.createMany(t, "obj", objects)
	p := s.spawnModule(t, guest(t, "living"), "--config", "handlers=daemon", "--set", "queueing.worker_limit=2")
	p.until(t, "some daemons run", func() bool { return len(p.stdout.With(`"handler":"daemonFn"`)) >= 100 })
	p.signal(t, syscall.SIGTERM)
	p.says(t, "Signal SIGTERM is received. Operator is stopping.")
	began, before := time.Now(), len(p.stderr.With("Daemon 'daemonFn' is invoked."))
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	took, begun := time.Since(began), len(p.stderr.With("Daemon 'daemonFn' is invoked."))
	t.Logf("%d daemons had begun before the stop signal, %d after it; the exit took %v", before, begun-before, took.Round(time.Millisecond))
	if begun-before > 20 { // of the time between the signal and the message
		t.Errorf("%d daemons have begun after the stop signal", begun-before)
	}
	if took > prompt {
		t.Errorf("the exit took %v", took)
	}
	if ended := len(p.stderr.With("Daemon 'daemonFn' has exited on request")); ended != begun {
		t.Errorf("%d daemons have ended, of %d", ended, begun)
	}
}
