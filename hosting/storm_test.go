package hosting

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/finalizers"
	"github.com/kopf-wasm/kopf/operator"
)

// running counts the operators of a declaration that run now.
func (x *fixture) running(name string) (count int) {
	for _, f := range x.all() {
		select {
		case <-f.ready:
			select {
			case <-f.ended:
			default:
				if f.options.Name == name {
					count++
				}
			}
		default:
		}
	}
	return count
}

// TestStormsOfDeclarations: declarations are created, changed, suspended, deleted with and without finalizers, created again and
// retried, all at the same time, while fetches, loads and operators fail or hang. At most one operator runs for each, none is left when
// all are gone, and the newest declaration wins.
func TestStormsOfDeclarations(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) { storm(t, seed) })
	}
}

func storm(t *testing.T, seed uint64) {
	x := hosted(t, operator.Options{})
	var random sync.Mutex
	source := rand.New(rand.NewPCG(seed, 0))
	dice := func(n int) int {
		random.Lock()
		defer random.Unlock()
		return source.IntN(n)
	}
	var calm atomic.Bool
	hazard := func(ctx context.Context) error {
		switch dice(6) {
		case 0:
			return errors.New("it fails")
		case 1:
			time.Sleep(time.Duration(dice(3000)) * time.Millisecond)
			return ctx.Err()
		}
		return nil
	}
	x.options.Gateway = &gate{}
	x.fetch = func(ctx context.Context, _ string) error {
		if calm.Load() {
			return nil
		}
		return hazard(ctx)
	}
	x.setUp = func(f *fake) {
		name := f.options.Name
		f.lingering, f.webhooks = time.Duration(dice(2000))*time.Millisecond, dice(2)
		fails := !calm.Load() && dice(4) == 0
		f.reload = func() error { return nil }
		f.starting = func() error {
			if n := x.running(name); n != 1 {
				t.Errorf("seed %d: %d operators of %s run at the same time", seed, n, name)
			}
			if fails {
				time.Sleep(time.Duration(dice(1000)) * time.Millisecond)
				return errors.New("it ends")
			}
			return f.options.Admission.Tenancy.Permit(t.Context(), nil)
		}
	}
	x.options.release = func(context.Context, finalizers.Options) releaser {
		return &cluster{seen: seen{runs: func() bool { return false }}}
	}
	const names = 4
	var authors sync.WaitGroup
	for i := range names {
		authors.Go(func() { author(x, dice, i) })
	}
	authors.Wait()
	calm.Store(true)
	for i := range names {
		x.Declare(Declaration{Key: key(fmt.Sprint("a", i)), UID: "last", Generation: 1, Spec: api.Spec{Module: "last", ServiceAccountName: "sa"}})
	}
	time.Sleep(10 * time.Minute)
	for i := range names {
		if s := x.Status(key(fmt.Sprint("a", i))); s == nil || !s.Is(api.Ready) || s.Digest != "last" {
			t.Errorf("seed %d: a%d does not serve in the end: %+v", seed, i, s)
		}
		x.Remove(key(fmt.Sprint("a", i)))
	}
	time.Sleep(30 * time.Minute)
	if keys := x.Keys(); len(keys) > 0 {
		t.Errorf("seed %d: %v are left", seed, keys)
	}
	for _, f := range x.all() {
		if n := x.running(f.options.Name); n != 0 {
			t.Errorf("seed %d: %d operators of %s run in the end", seed, n, f.options.Name)
		}
	}
}

// author does what comes to its mind with one declaration.
func author(x *fixture, dice func(n int) int, i int) {
	d := Declaration{Key: key(fmt.Sprint("a", i)), UID: "u0", Generation: 1}
	for step := range 200 {
		d.Generation++
		d.Spec = api.Spec{Module: fmt.Sprint("v", dice(5)), ServiceAccountName: "sa", Suspend: dice(5) == 0}
		d.Problem, d.Leaving = nil, false
		switch dice(10) {
		case 0:
			d.Spec.Limits = map[string]string{"MaxIdle": fmt.Sprint(1 + dice(2))}
		case 1:
			d.Spec.OnRemoval = &api.OnRemoval{Finalizers: api.Release}
		case 2:
			d.Spec.OnRemoval, d.Leaving = &api.OnRemoval{Finalizers: api.ReleaseAfter, ReleaseAfter: "3s"}, dice(2) == 0
		case 3:
			d.Problem, d.Spec = errors.New("unknown field"), api.Spec{}
		case 4, 5:
			x.Remove(d.Key)
			d.UID = fmt.Sprint("u", step)
		case 6:
			_ = x.Retry(d.Key)
			x.Facts()
		}
		x.Declare(d)
		time.Sleep(time.Duration(dice(dice(5000)+1)) * time.Millisecond)
	}
}
