package pauses

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
)

// reasonFor makes a reason from a name.
func reasonFor(name string) Reason { return Reason{Peering: dimensions.Key{Namespace: name}} }

func TestPausesAreOnForAnyReason(t *testing.T) {
	p := New()
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
		if changed := p.Set(reasonFor(step.reason), step.on); changed != step.changed || p.IsOn() != step.is {
			t.Errorf("step %d: changed %v, on %v; want %v, %v", i, changed, p.IsOn(), step.changed, step.is)
		}
	}
}

// Work stops with each pause, begins again after it, and ends with the context: work that waits in a
// goroutine, and work that returns and is over later.
func TestWorkBetweenPauses(t *testing.T) {
	for name, returns := range map[string]bool{"waits": false, "returns": true} {
		t.Run(name, func(t *testing.T) { testWorkBetweenPauses(t, returns) })
	}
}

func testWorkBetweenPauses(t *testing.T, returns bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := New()
		p.Set(reasonFor("start"), true)
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		var spans [][2]time.Duration
		done := make(chan struct{})
		work := func(ctx context.Context, over func()) {
			from := time.Since(begin)
			end := func() {
				spans = append(spans, [2]time.Duration{from, time.Since(begin)})
				over()
			}
			if returns {
				context.AfterFunc(ctx, end)
				return
			}
			<-ctx.Done()
			end()
		}
		go p.Between(ctx, work, func() { close(done) })
		time.Sleep(time.Second)
		p.Set(reasonFor("start"), false)
		time.Sleep(time.Second)
		p.Set(reasonFor("a"), true)
		p.Set(reasonFor("b"), true)
		time.Sleep(time.Second)
		p.Set(reasonFor("a"), false)
		time.Sleep(time.Second)
		p.Set(reasonFor("b"), false)
		time.Sleep(time.Second)
		cancel()
		<-done
		want := [][2]time.Duration{{time.Second, 2 * time.Second}, {4 * time.Second, 5 * time.Second}}
		if diff := cmp.Diff(want, spans); diff != "" {
			t.Errorf("the work (-want +got):\n%s", diff)
		}
	})
}

// A pause cancels what is registered when it begins, and what is registered later at once,
// until it is removed.
func TestCancellations(t *testing.T) {
	p, cancelled := New(), []string{}
	register := func(name string) (remove func()) {
		return p.OnPause(func() { cancelled = append(cancelled, name) })
	}
	remove := register("before")
	removed := register("removed")
	removed()
	p.Set(reasonFor("a"), true)
	p.Set(reasonFor("b"), true)
	late := register("during")
	if want := []string{"before", "during"}; !slices.Equal(cancelled, want) {
		t.Errorf("cancelled %v, want %v", cancelled, want)
	}
	remove()
	late()
	p.Set(reasonFor("a"), false)
	p.Set(reasonFor("b"), false)
	p.Set(reasonFor("a"), true)
	if len(cancelled) != 2 || len(p.cancels) != 0 {
		t.Errorf("cancelled %v after the removal; %d remain", cancelled, len(p.cancels))
	}
}
