package webhooks

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// growing is an operator with a persistent handler, whose resources appear one after the other.
type growing struct {
	Operator
	changed chan struct{}

	mu      sync.Mutex // guards the fields below
	plurals []string
	written map[string]string // the configurations
}

func (g *growing) Changed() <-chan struct{} { return g.changed }

func (g *growing) Handlers() []reviews.Handler {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := reviews.Handler{ID: "check", Spec: abi.Handler{Kind: abi.KindValidate, Persistent: true}}
	for _, plural := range g.plurals {
		h.Resources = append(h.Resources, selectors.Resource{Group: "g", Version: "v1", Plural: plural, Namespaced: true})
	}
	return []reviews.Handler{h}
}

func (g *growing) appear(plural string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.plurals = append(g.plurals, plural)
}

func (g *growing) Create(context.Context, apipath.Path, []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.written[Validating] = ""
	return nil
}

func (g *growing) Patch(_ context.Context, at apipath.Path, text []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	kind := path.Base(path.Dir(string(at)))
	if _, ok := g.written[Validating]; !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, "x")
	}
	g.written[kind] = string(text)
	return nil
}

func (g *growing) now() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written[Validating]
}

// idle is a server that only announces itself.
type idle struct{}

func (idle) Serve(ctx context.Context, _ http.Handler, announce func(ClientConfig)) error {
	target := "https://x"
	announce(ClientConfig{URL: &target})
	<-ctx.Done()
	return nil
}

// TestRefusedWebhooks: no webhook is in the cluster whose handler was not permitted, also if it is persistent, if its resource appears
// while rights are asked for, or if the right was lost.
func TestRefusedWebhooks(t *testing.T) {
	refusal := errors.New("not permitted")
	synctest.Test(t, func(t *testing.T) {
		g := &growing{changed: make(chan struct{}, 1), plurals: []string{"things"}, written: map[string]string{}}
		late := true
		allowed := map[string]bool{"things": true}
		w := &Webhooks{Server: idle{}, Managed: "x", Log: zerolog.Nop(), Permit: func(_ context.Context, handlers []reviews.Handler) error {
			if late {
				late = false
			} else {
				time.Sleep(time.Second)
			}
			for _, r := range handlers[0].Resources {
				if !allowed[r.Plural] {
					return refusal
				}
			}
			return nil
		}}
		ended := make(chan error, 1)
		go func() { ended <- w.Run(t.Context(), g) }()
		time.Sleep(500 * time.Millisecond) // it asks
		g.appear("secrets")
		time.Sleep(time.Second)
		if text := g.now(); !strings.Contains(text, `"things"`) || strings.Contains(text, "secrets") {
			t.Errorf("written before there is an answer about secrets: %s", text)
		}
		g.changed <- struct{}{}
		if err := <-ended; !errors.Is(err, refusal) {
			t.Errorf("ended with %v", err)
		}
		if text := g.now(); text != `{"webhooks":[]}` {
			t.Errorf("what stays: %s", text)
		}

		g.written[Validating] = `{"webhooks":["of an earlier run"]}`
		if err := w.Run(t.Context(), g); !errors.Is(err, refusal) || g.now() != `{"webhooks":[]}` {
			t.Errorf("%v; what stays: %s", err, g.now())
		}
		delete(g.written, Validating)
		if err := w.Run(t.Context(), g); err == nil || err.Error() != refusal.Error() {
			t.Errorf("without a configuration: %v", err)
		}
	})
}
