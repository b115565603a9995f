package signals_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/reactor/signals"
)

// TestThen: what waits is called once, whatever comes first, and also if that has been.
func TestThen(t *testing.T) {
	for name, events := range map[string][]string{
		"given later":       {"wait", "give", "cancel", "give"},
		"given before":      {"give", "wait", "cancel"},
		"cancelled later":   {"wait", "cancel", "give"},
		"cancelled before":  {"cancel", "wait", "give"},
		"both before":       {"give", "cancel", "wait"},
		"given while waits": {"wait", "give", "give"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, calls := signals.New(), 0
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for i, event := range events {
					switch event {
					case "wait":
						before := runtime.NumGoroutine()
						s.Then(ctx, func() { calls++ })
						if i == 0 && runtime.NumGoroutine() > before {
							t.Error("a goroutine waits")
						}
					case "give":
						s.Give()
					case "cancel":
						cancel()
					}
					synctest.Wait()
					if i == 0 && calls > 0 {
						t.Error("called before anything has happened")
					}
				}
				if calls != 1 {
					t.Errorf("called %d times, want once", calls)
				}
			})
		})
	}
}

// TestGiven: the channel is closed by the first gift.
func TestGiven(t *testing.T) {
	s := signals.New()
	if s.IsGiven() {
		t.Fatal("given at the beginning")
	}
	s.Give()
	<-s.Given()
	if !s.IsGiven() {
		t.Error("not given, although the channel is closed")
	}
}
