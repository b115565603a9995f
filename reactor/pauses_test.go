package reactor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// reasonFor makes reasons of names.
func reasonFor(name string) pauseReason { return pauseReason{namespace: name} }

func TestPausesAreOnForAnyReason(t *testing.T) {
	p := newPauses()
	steps := []struct {
		reason      string
		on          bool
		changed, is bool
	}{
		{"a", false, false, false},
		{"a", true, true, true},
		{"a", true, false, true},
		{"b", true, true, true},
		{"a", false, true, true},
		{"b", false, true, false},
	}
	for i, step := range steps {
		if changed := p.set(reasonFor(step.reason), step.on); changed != step.changed || p.isOn() != step.is {
			t.Errorf("step %d: changed %v, on %v; want %v, %v", i, changed, p.isOn(), step.changed, step.is)
		}
	}
}

// Work stops with each pause, begins again after it, and ends with the context.
func TestWorkBetweenPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPauses()
		p.set(reasonFor("start"), true)
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		var spans [][2]time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.between(ctx, func(ctx context.Context) {
				from := time.Since(begin)
				<-ctx.Done()
				spans = append(spans, [2]time.Duration{from, time.Since(begin)})
			})
		}()
		time.Sleep(time.Second)
		p.set(reasonFor("start"), false)
		time.Sleep(time.Second)
		p.set(reasonFor("a"), true)
		p.set(reasonFor("b"), true)
		time.Sleep(time.Second)
		p.set(reasonFor("a"), false)
		time.Sleep(time.Second)
		p.set(reasonFor("b"), false)
		time.Sleep(time.Second)
		cancel()
		<-done
		want := [][2]time.Duration{{time.Second, 2 * time.Second}, {4 * time.Second, 5 * time.Second}}
		if diff := cmp.Diff(want, spans); diff != "" {
			t.Errorf("the work (-want +got):\n%s", diff)
		}
	})
}
