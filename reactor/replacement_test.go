package reactor

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// TestOperatorsEndByThemselvesAfterAReplacement: the streams that a replacement has started end, too. The operator waits for them.
func TestOperatorsEndByThemselvesAfterAReplacement(t *testing.T) {
	registry := func(t *testing.T, plurals ...string) *registries.Registry {
		t.Helper()
		var handlers []abi.Handler
		for _, plural := range plurals {
			handlers = append(handlers, abi.Handler{Kind: abi.KindEvent, ID: plural, Resource: &abi.Selector{Group: new("example.com"), Plural: plural}})
		}
		r, err := registries.New(reactortest.Instant{Handlers: handlers})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	served := func(plural, kind string) apiserver.Resource {
		return apiserver.Resource{Group: "example.com", Version: "v1", Plural: plural, Kind: kind, Namespaced: true, Preferred: true, Verbs: []string{"list", "watch", "patch"}}
	}
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New([]apiserver.Resource{served("shops", "Shop"), served("apples", "Apple")})
		info := credentials.Info{Config: &rest.Config{Host: "http://server", Transport: &reactortest.Wire{RoundTripper: server}}}
		s := settings.Default()
		s.Posting.Enabled, s.Peering.Standalone = false, true
		op, err := New(Options{
			Registry: registry(t, "shops"), Settings: s, Log: zerolog.New(io.Discard),
			Logins: []credentials.HostLogin{{Name: "test", Get: func(context.Context) (*credentials.Info, error) { return &info, nil }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- op.Run(t.Context()) }()
		time.Sleep(time.Minute)
		if _, err := op.Replace(t.Context(), registry(t, "shops", "apples"), calls.Options{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		reason, began := errors.New("another operator has the objects"), time.Now()
		op.unable.happen(reason)
		if err := <-ended; !errors.Is(err, reason) || time.Since(began) > time.Minute {
			t.Errorf("it ends with %v after %v", err, time.Since(began))
		}
	})
}
