package hosting

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/webhooks"
)

// gate is a Gateway of a test.
type gate struct {
	mu      sync.Mutex // guards all below
	refuses error
	removed []string
	fails   error
}

func (g *gate) Admission(_ *Declaration, scope *webhooks.Scope) operator.Admission {
	return operator.Admission{Tenancy: &operator.Tenancy{Scope: scope, Permit: func(context.Context, []reviews.Handler) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.refuses
	}}}
}

func (g *gate) Remove(_ context.Context, key Key) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removed = append(g.removed, key.Name)
	return g.fails
}

func (g *gate) set(refuses, fails error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuses, g.fails = refuses, fails
}

func (g *gate) names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.removed)
}

// TestScopesOfWebhooks: an operator reviews what it serves. Only operators of the whole cluster
// convert.
func TestScopesOfWebhooks(t *testing.T) {
	tests := []struct {
		kind       api.Kind
		namespaces []string
		want       []string // nil: everywhere
		conversion string
	}{
		{api.Namespaced, []string{"ns"}, []string{"ns"}, "ConversionScope"},
		{api.Cluster, nil, nil, ""},
		{api.Cluster, []string{"b", "a"}, []string{"a", "b"}, "ConversionScope"},
	}
	reason := func(err error) string {
		var refusal *Refusal
		if errors.As(err, &refusal) && refusal.Condition == api.Granted && refusal.Final {
			return refusal.Reason
		}
		return ""
	}
	for _, tt := range tests {
		h := New(Options{Gateway: &gate{}})
		tenancy := h.admission(&Declaration{Key: Key{Kind: tt.kind}}, tt.namespaces, nil).Tenancy
		var got []string
		if tenancy.Scope != nil {
			got = tenancy.Scope.Namespaces
		}
		if !slices.Equal(got, tt.want) || (tenancy.Scope == nil) != (tt.want == nil) || tenancy.Refuse != nil || reason(tenancy.RefuseConversion) != tt.conversion {
			t.Errorf("%+v: %+v", tt, tenancy)
		}
		tenancy = New(Options{}).admission(&Declaration{Key: Key{Kind: tt.kind}}, tt.namespaces, nil).Tenancy
		if reason(tenancy.Refuse) != "NoAdmissionServer" || reason(tenancy.RefuseConversion) != "NoAdmissionServer" || !strings.Contains(tenancy.Refuse.Error(), "--admission-server of kopf serve") {
			t.Errorf("without a gateway: %+v", tenancy)
		}
	}
}

// TestOperatorsServeWhenTheirHandlersArePermitted: before, they are not ready, and attempts
// become rarer.
func TestOperatorsServeWhenTheirHandlersArePermitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, g := hosted(t, operator.Options{}), &gate{}
		x.options.Gateway = g
		x.setUp = func(f *fake) {
			f.webhooks = 1
			f.starting = func() error { return f.options.Admission.Tenancy.Permit(t.Context(), nil) }
		}
		g.set(&Refusal{Condition: api.Granted, Reason: "AdmissionForbidden", Err: errors.New("may not validate")}, nil)
		x.declared("a", 1, nil)
		x.has("a", api.Granted, api.False, "AdmissionForbidden", "may not validate")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(x.all()); n < 5 || n > 12 || slices.Contains(x.said(), "a: Serving") {
			t.Errorf("%d attempts, reports %v", n, x.said())
		}
		g.set(nil, nil)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		x.has("a", api.Ready, api.True, "Serving", "")
		if s := x.Status(key("a")); s.Webhooks != 1 || len(g.names()) != 0 {
			t.Errorf("status %+v, removed %v", s, g.names())
		}
	})
}

// TestWebhooksWaitUntilTheirDeclarationIsHeld: before, an operator has no permission to write them.
func TestWebhooksWaitUntilTheirDeclarationIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, held := hosted(t, operator.Options{}), make(chan struct{})
		x.options.Gateway = &gate{}
		x.options.Hold = func(ctx context.Context, k Key, uid string) error {
			if k != key("a") || uid == "" {
				t.Errorf("held: %v, %q", k, uid)
			}
			select {
			case <-held:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		x.setUp = func(f *fake) {
			f.webhooks = 1
			f.starting = func() error { return f.options.Admission.Tenancy.Permit(t.Context(), nil) }
		}
		x.declared("a", 1, nil)
		x.has("a", api.Ready, api.False, "Loading", "")
		close(held)
		synctest.Wait()
		x.has("a", api.Ready, api.True, "Serving", "")
	})
}

// TestWebhooksOfAnOperatorThatNeverServed: it writes them in the moment in which its declaration is deleted.
func TestWebhooksOfAnOperatorThatNeverServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, g := hosted(t, operator.Options{}), &gate{}
		x.options.Gateway = g
		x.setUp = func(f *fake) {
			f.webhooks = 1
			f.starting = func() error {
				<-f.stopped
				return f.options.Admission.Tenancy.Permit(t.Context(), nil)
			}
		}
		x.declared("a", 1, nil)
		x.Remove(key("a"))
		synctest.Wait()
		if !slices.Equal(g.names(), []string{"a"}) || x.Status(key("a")) != nil {
			t.Errorf("removed %v, reports %v", g.names(), x.said())
		}
	})
}

// TestWebhooksGoWithTheirOperator: when the declaration is deleted, or a version has no
// admission handlers any more. A failure is repeated.
func TestWebhooksGoWithTheirOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, g := hosted(t, operator.Options{}), &gate{}
		x.options.Gateway = g
		x.setUp = func(f *fake) {
			if f.module == "v1" {
				f.webhooks = 1
				f.starting = func() error { return f.options.Admission.Tenancy.Permit(t.Context(), nil) }
			}
		}
		x.declared("a", 1, nil)
		x.declared("b", 1, nil)
		x.declared("c", 1, func(s *api.Spec) { s.Module = "v2" })
		x.declared("a", 2, func(s *api.Spec) { s.Module, s.Grants = "v2", &api.Grants{Wanted: true} })
		if s := x.Status(key("a")); s.Webhooks != 0 || !slices.Equal(g.names(), []string{"a"}) {
			t.Errorf("status %+v, removed %v", s, g.names())
		}
		g.set(nil, errors.New("no connection"))
		for _, name := range []string{"a", "b", "c"} {
			x.Remove(key(name))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if x.Status(key("b")) == nil || x.Status(key("a")) != nil || x.Status(key("c")) != nil {
			t.Errorf("removed %v, reports %v", g.names(), x.said())
		}
		g.set(nil, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if x.Status(key("b")) != nil {
			t.Errorf("removed %v, reports %v", g.names(), x.said())
		}
	})
}
