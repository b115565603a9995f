package e2e_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kopf-wasm/kopf/operator"
)

// reloadedGroup is a group of its own: what handlers are for is a part of their module.
const reloadedGroup = "reloaded.example.com"

// TestReloadUnderReviews: no review fails while modules are replaced, even if the
// handlers, and so the webhooks, have other names then.
func TestReloadUnderReviews(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.Apply(t, fmt.Sprintf(widgetsDefinition, reloadedGroup))
	s.forgetConfigurations(t)
	reviewer := func(number, name string) string {
		return version(t, "version="+number, "handlers="+name, "resource=widgets."+reloadedGroup)
	}
	op := s.developed(t, reviewer("1", "check"), func(o *operator.Options) {
		o.Admission = operator.Admission{Server: localServer, Managed: s.managedName()}
	})
	w := widgets{op.running, reloadedGroup}
	asked := func(number int, name string) error {
		err := w.try(t.Context(), name)
		if err == nil && op.count(number, "check", name) == 0 {
			err = fmt.Errorf("version %d is not asked", number)
		}
		return err
	}
	s.eventually(t, func() error { return asked(1, "first") })

	var asking sync.WaitGroup // Waited for below.
	var over atomic.Bool
	var allowed, failed atomic.Int64
	for n := range 4 {
		asking.Go(func() {
			for i := 0; !over.Load(); i++ {
				if err := w.try(t.Context(), fmt.Sprintf("obj-%d-%d", n, i)); err == nil {
					allowed.Add(1)
				} else if failed.Add(1) < 5 {
					t.Error(err)
				}
			}
		})
	}
	for i, name := range []string{"check", "recheck", "check"} {
		number := i + 2
		before := allowed.Load()
		op.replace(t, reviewer(fmt.Sprint(number), name))
		s.eventually(t, func() error { return asked(number, fmt.Sprint("probe", number)) })
		op.until(t, "there are reviews meanwhile", func() bool { return allowed.Load() > before+10 })
	}
	over.Store(true)
	asking.Wait()
	t.Logf("%d reviews were allowed, %d have failed", allowed.Load(), failed.Load())
}
