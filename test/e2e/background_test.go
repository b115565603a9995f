package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// background runs the guest "living" with a background handler.
func (s space) background(t *testing.T, do string) *running {
	t.Helper()
	return s.start(t, options{
		guest:    "living",
		config:   map[string]string{"handlers": "startup background cleanup", "do": do, "options": `{"retries":3}`},
		settings: func(s *settings.Settings) { s.Queueing.ExitTimeout = time.Second },
	})
}

// TestBackgroundHandlers run from after the startup until before the cleanup.
func TestBackgroundHandlers(t *testing.T) {
	t.Parallel()
	op := newSpace(t).background(t, "")
	op.until(t, "it ticks", func() bool { return len(op.stdout.With(`"tick":"backgroundFn"`)) > 3 })
	op.stop(t)
	var order []string
	for _, line := range op.stdout.All() {
		if !strings.Contains(line, "tick") {
			order = append(order, line)
		}
	}
	want := []string{
		`{"activity":"startup","handler":"startupFn","retry":0}`,
		`{"handler":"backgroundFn","retry":0}`,
		`{"reasons":["operator_exiting"],"stopped":"backgroundFn"}`,
		`{"activity":"cleanup","handler":"cleanupFn","retry":0}`,
	}
	if !slices.Equal(order, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(order, "\n"), strings.Join(want, "\n"))
	}
}

// TestBackgroundHandlersAreRetried, as all others, until they end by themselves.
func TestBackgroundHandlersAreRetried(t *testing.T) {
	t.Parallel()
	tests := []struct {
		do, says string
		calls    int
	}{
		{"background fails", "", 3},
		{"background ends", "Background 'backgroundFn' has exited on its own and will not be retried or restarted.", 1},
		{"background panics", "panic: the background wants a panic", 3},
	}
	s := newSpace(t)
	for _, test := range tests {
		t.Run(test.do, func(t *testing.T) {
			op := s.background(t, test.do)
			op.until(t, "it is called", func() bool { return len(op.stdout.With(`"handler":"backgroundFn"`)) == test.calls })
			op.until(t, "it says so", func() bool { return len(op.log.With(test.says)) > 0 })
			op.stop(t)
			if n := len(op.stdout.With(`"handler":"backgroundFn"`)); n != test.calls {
				t.Errorf("%d calls, want %d", n, test.calls)
			}
		})
	}
}

// TestBackgroundHandlersThatIgnoreTheExit are ended by force, before the cleanup.
func TestBackgroundHandlersThatIgnoreTheExit(t *testing.T) {
	t.Parallel()
	op := newSpace(t).background(t, "background ignores")
	op.until(t, "it runs", func() bool { return len(op.stdout.With(`"handler":"backgroundFn"`)) == 1 })
	op.stop(t)
	if len(op.stdout.With(`"activity":"cleanup"`)) != 1 {
		t.Error("there was no cleanup")
	}
}
