package host

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writes remembers each write.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, string(p))
	return len(p), nil
}

func TestStreams(t *testing.T) {
	var stdout, stderr writes
	m := loadGo(t, Options{Stdout: &stdout, Stderr: &stderr})
	result(t, m, "print", &testEnv{})
	if diff := cmp.Diff([]string{"one\n", "two\n"}, stdout.all); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"three\n"}, stderr.all); diff != "" {
		t.Error(diff)
	}
}

func TestOutputIsLimited(t *testing.T) {
	var stdout, stderr bytes.Buffer
	m := loadGo(t, Options{Stdout: &stdout, Stderr: &stderr, LogLimit: 100_000})
	for call := 1; call <= 2; call++ {
		result(t, m, "print much", &testEnv{})
		if n := stdout.Len(); n < call*97_000 || n > call*100_000 {
			t.Errorf("%d bytes after %d calls", n, call)
		}
		if n := strings.Count(stderr.String(), "further output is dropped"); n != call {
			t.Errorf("%d warnings after %d calls", n, call)
		}
	}
}

func TestClockStandsStillWhileComputing(t *testing.T) {
	m := loadGo(t, Options{})
	if got := result(t, m, "still", &testEnv{}); got != "0" {
		t.Errorf("%s ns went by", got)
	}
}

func TestCollectionsWorkWithAStandingClock(t *testing.T) {
	m := loadGo(t, Options{RetireMemory: 1 << 30})
	for range 20 {
		if got := result(t, m, "garbage", &testEnv{}); got != "100690" {
			t.Errorf("garbage = %s", got)
		}
	}
}

func TestRandomNumbersDiffer(t *testing.T) {
	m := loadGo(t, Options{RetireCalls: 1, NoClones: true})
	a, b := result(t, m, "rand", &testEnv{}), result(t, m, "rand", &testEnv{})
	if a == b {
		t.Errorf("both are %s", a)
	}
}

func TestEmptySystem(t *testing.T) {
	t.Setenv("KOPF_TEST", "visible")
	m := loadGo(t, Options{})
	if got := result(t, m, "environment", &testEnv{}); got != `"0 0 true"` {
		t.Errorf("arguments, environment, no file: %s", got)
	}
}
