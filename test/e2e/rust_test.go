package e2e_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// rustModule is the guest of test/guests/rust/minimal, which has no SDK.
const rustModule = repository + "/.cache/guests/rust-minimal.wasm"

// rustGuest is the path of that guest. Without Rust there is none: then the test
// is skipped, but never in CI.
func rustGuest(t *testing.T) string {
	t.Helper()
	_, err := os.Stat(rustModule)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skip("SKIPPED: the Rust guest is not built. `make guests` builds it, or says what is missing")
	}
	if err != nil {
		t.Fatal(err)
	}
	return rustModule
}

func TestRustGuest(t *testing.T) {
	t.Parallel()
	module := rustGuest(t)
	s := newSpace(t)
	op := s.start(t, options{module: module, settings: func(s *settings.Settings) {
		s.Execution.DefaultBackoff = time.Second
	}})
	s.create(t, "plain", "{}")
	s.create(t, "temporary", "{fail: temporary}")
	s.create(t, "permanent", "{fail: permanent}")
	s.create(t, "panic", "{fail: panic}")
	s.create(t, "waiting", "{wait: 1}")

	for name, retry := range map[string]int64{"plain": 0, "temporary": 1, "waiting": 0} {
		want := map[string]any{
			"create_fn": map[string]any{"message": "hello, " + name, "retry": retry},
			"greeted":   true,
		}
		if diff := cmp.Diff(want, s.handled(t, name).Object["status"]); diff != "" {
			t.Errorf("status of %s (-want +got):\n%s", name, diff)
		}
	}
	op.says(t, "temporary", "error: Handler 'create_fn' failed temporarily: not yet")
	op.says(t, "permanent", "error: Handler 'create_fn' failed permanently: never")
	if status := s.handled(t, "permanent").Object["status"]; status != nil {
		t.Errorf("status after a permanent error: %v", status)
	}

	message := op.says(t, "panic", "failed with an exception and will try again in 1 seconds")
	if !strings.Contains(message, "the spec of panic wants a panic") || !strings.Contains(message, "create_fn") {
		t.Errorf("the panic is logged as %q", message)
	}
	retried := s.progress(t, "panic", "create_fn", func(p progress) bool { return p.Retries >= 2 })
	if !strings.Contains(retried.Message, "the spec of panic wants a panic") {
		t.Errorf("progress after the panic: %+v", retried)
	}
	s.patch(t, "panic", `{"spec":{"fail":null}}`)
	s.handled(t, "panic")
}
