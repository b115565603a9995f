package hosting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/finalizers"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// TestNextHostWaitsForObjectsOnly: a host that is stopped keeps its Lease until no operator handles an object any more, however long
// one of them takes, and whatever becomes of the others. It does not keep it for cleanup handlers.
func TestNextHostWaitsForObjectsOnly(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(map[bool]string{false: "leader", true: "shared"}[shared], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { stopAHost(t, shared) })
		})
	}
}

func stopAHost(t *testing.T, shared bool) {
	t.Helper()
	const slow, objects = 3 * leadership.DefaultDuration, 20
	w := newTown(t)
	w.shared = shared
	north, south, failed, loading, suspended := operatorOf("default", "north"), operatorOf("other", "south"), operatorOf("a", "failed"), operatorOf("b", "loading"), operatorOf("c", "suspended")
	suspended.Spec.Suspend = true
	w.alter = func(o operator.Options, r *reactortest.Recorder) error {
		r.Stopping, r.Cleanup = 0, 2*time.Minute
		switch o.Name {
		case south.Key.String():
			r.Stopping, r.Cleanup = slow, 0
		case failed.Key.String():
			return errors.New("it cannot be loaded")
		}
		r.Replica, _, _ = strings.Cut(r.Replica, ":") // an object has one operator
		return nil
	}
	fetching := make(chan struct{}, 10)
	w.fetch = func(ctx context.Context, d *Declaration) error {
		if d.Key != loading.Key {
			return nil
		}
		fetching <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	for i := range objects {
		w.shop("default", fmt.Sprint("north-", i), "0")
		w.shop("other", fmt.Sprint("south-", i), "0")
	}
	declared := []Declaration{north, south, failed, loading, suspended}
	for _, d := range declared {
		w.present[d.Key] = d
	}
	first := w.host("first", declared...)
	w.until("the objects of the first host", func() bool { return w.Busy("first") == 2*objects })
	<-fetching
	second := w.host("second", declared...)
	if shared {
		w.until("the share of the second host", func() bool { return w.Busy("second") > 0 })
	}
	time.Sleep(time.Minute)
	before := w.Busy("second")
	first.stop()
	time.Sleep(slow - time.Second)
	if now := w.Busy("second"); now != before || w.Busy("first") == 0 {
		t.Errorf("while the first host works on %d objects, the second one has taken %d", w.Busy("first"), now-before)
	}
	w.until("the second host has all objects", func() bool { return w.Busy("second") == 2*objects })
	select {
	case err := <-first.end:
		t.Errorf("the first host has ended before its cleanup handlers: %v", err)
	default:
	}
	if err := <-first.end; err != nil {
		t.Errorf("the first host ends with %v", err)
	}
	second.stop()
	if err := <-second.end; err != nil {
		t.Errorf("the second host ends with %v", err)
	}
	for _, overlap := range w.Overlaps() {
		t.Error("at once: ", overlap)
	}
}

// TestAHostReleasesNoLeaseOfStuckOperators: an operator whose handlers do not end still works on its objects. Other hosts wait until
// the Lease expires, after the end of the process.
func TestAHostReleasesNoLeaseOfStuckOperators(t *testing.T) {
	for name, stuck := range map[string]bool{"stuck": true, "crashed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				me := newFixedReplica(t.Context())
				x := hosted(t, operator.Options{}, me)
				me.lead()
				x.declared("a", 1, nil)
				err := errors.New("it has ended")
				if stuck {
					err = fmt.Errorf("%w: still not done", operator.ErrExitTimeout)
				}
				x.all()[0].fails <- err
				time.Sleep(time.Second / 2)
				x.stop()
				time.Sleep(time.Hour)
				synctest.Wait()
				if x.IsRunning() || me.released.Load() == stuck {
					t.Errorf("running: %t, released: %t", x.IsRunning(), me.released.Load())
				}
			})
		})
	}
}

// slowly removes finalizers, and cannot be interrupted.
type slowly struct {
	*cluster
	ended func()
}

func (s slowly) Release(ctx context.Context) (int, error) {
	time.Sleep(time.Minute)
	s.ended()
	return s.cluster.Release(ctx)
}

// TestAHostReleasesNoLeaseWhileItRemovesFinalizers: what has begun is under way until it ends.
func TestAHostReleasesNoLeaseWhileItRemovesFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		me := newFixedReplica(t.Context())
		x, c := leaving(t, me)
		removed := false
		x.options.release = func(context.Context, finalizers.Options) releaser {
			return slowly{c, func() { removed = !me.released.Load() }}
		}
		me.lead()
		d := x.declared("a", 1, onRemoval(api.Release, ""))
		x.deleted(d)
		time.Sleep(time.Second)
		x.stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if !removed || !me.released.Load() {
			t.Errorf("finalizers were removed before the release: %t; released: %t", removed, me.released.Load())
		}
	})
}
