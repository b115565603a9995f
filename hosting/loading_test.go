package hosting

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/processors"
	"github.com/kopf-wasm/kopf/operator"
)

// TestStartupHandlersOccupyNothing: an operator that starts, or whose module is replaced, may take as long as it likes. Meanwhile it
// keeps neither the memory of its module nor a place among the operators that are loaded, for which others would wait.
func TestStartupHandlersOccupyNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.options.Gateway = &gate{}
		hanging := make(chan struct{})
		x.setUp = func(f *fake) {
			f.reload = func() error {
				<-hanging
				return nil
			}
		}
		for generation, module := range []string{"v1", "v2"} {
			for i := range 4 * processors.Number() {
				k := Key{Kind: api.Namespaced, Namespace: []string{"one", "other"}[i%2], Name: fmt.Sprint("hangs", i)}
				x.Declare(Declaration{Key: k, UID: "u", Generation: int64(generation + 1), Spec: api.Spec{Module: module, ServiceAccountName: "sa"}})
			}
			synctest.Wait()
		}
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.mu.Lock()
		x.setUp = func(f *fake) { f.webhooks = 1 } // it never asks for the permission that the host waits for
		x.mu.Unlock()
		x.declared("b", 1, nil)
		x.has("b", api.Ready, api.False, "Loading", "")
		if n := x.held.Load(); n != 0 {
			t.Errorf("the memory of %d modules is occupied", n)
		}
		close(hanging)
	})
}

// TestDefectsConcernOneDeclaration: modules, and what registries say about them, are foreign. A panic of the host about one of them ended
// all operators, and again after each start. It occupies no place among those that are loaded.
func TestDefectsConcernOneDeclaration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.fetch = func(_ context.Context, module string) error {
			if module == "unfetched" {
				panic("about the artifact")
			}
			return nil
		}
		x.create = func(module string) error {
			if module == "unloaded" {
				panic("about the module")
			}
			return nil
		}
		x.setUp = func(f *fake) { f.reload = func() error { panic("about the replacement") } }
		for i := range 4 * processors.Number() {
			x.declared(fmt.Sprint("unloaded", i), 1, func(s *api.Spec) { s.Module = "unloaded" })
		}
		x.has("unloaded0", api.Degraded, api.True, "LoadFailed", "a defect of the host: about the module")
		x.declared("unfetched", 1, func(s *api.Spec) { s.Module = "unfetched" })
		x.has("unfetched", api.Degraded, api.True, "FetchFailed", "a defect of the host: about the artifact")
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.True, "Serving", "")
		x.declared("a", 2, func(s *api.Spec) { s.Module = "v2" })
		x.has("a", api.Degraded, api.True, "LoadFailed", "a defect of the host: about the replacement")
	})
}

// TestManyReplacedModulesEndInARestart: handlers that wait for days keep each module that is replaced.
func TestManyReplacedModulesEndInARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := hosted(t, operator.Options{})
		x.setUp = func(f *fake) { f.replaced = maxReplaced - 1 }
		x.declared("a", 1, nil)
		x.declared("a", 2, func(s *api.Spec) { s.Module = "v2" })
		first := x.all()[0]
		if len(x.all()) != 1 || first.module != "v2" {
			t.Fatalf("%d operators, module %s", len(x.all()), first.module)
		}
		first.replaced = maxReplaced
		x.declared("a", 3, func(s *api.Spec) { s.Module = "v3" })
		x.has("a", api.Ready, api.True, "Serving", "")
		if all := x.all(); len(all) != 2 || all[1].module != "v3" {
			t.Fatalf("%d operators", len(all))
		}
		<-first.stopped
	})
}
