package operator

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
)

// ofPods is a guest with a handler of pods.
type ofPods struct{ starting }

func (*ofPods) Registration() *abi.Registration {
	return &abi.Registration{Handlers: []abi.Handler{{Kind: abi.KindCreate, ID: "create_fn", Resource: &abi.Selector{Plural: "pods"}}}}
}

// TestMissingRightsAreSaidInOneLine uses a server with pods whose accounts may list them only.
func TestMissingRightsAreSaidInOneLine(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/api":
			fmt.Fprint(w, `{"kind": "APIVersions", "versions": ["v1"]}`)
		case r.URL.Path == "/apis":
			fmt.Fprint(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)
		case r.URL.Path == "/api/v1":
			fmt.Fprint(w, `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "pods", "singularName": "pod", "kind": "Pod", "namespaced": true, "verbs": ["list", "watch", "patch"]}]}`)
		case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body) // of a test
			fmt.Fprintf(w, `{"status": {"allowed": %v}}`, strings.Contains(body.String(), `"verb":"list"`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	var log bytes.Buffer
	op, err := New(t.Context(), Options{Guests: []guests.Guest{&ofPods{}}, Namespaces: []string{"team"}, Log: zerolog.New(&log).Level(zerolog.InfoLevel)})
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := clients.ForCommand(ctx, map[string]credentials.Info{"host": {Config: &rest.Config{Host: server.URL}}}, "kopf", zerolog.Nop())
	op.logMissingRights(ctx, client)
	want := "The account of the operator lacks rights: watch customresourcedefinitions.apiextensions.k8s.io in the whole cluster; create events in the namespace team; get, patch, watch pods in the namespace team. kopf manifest prints roles with them."
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
		t.Errorf("it logged %s", got)
	}
}

func TestHostedOperatorsSayNothingOfTheirRights(t *testing.T) {
	op := &Operator{options: Options{NoLogins: true}}
	if op.onRefusal() != nil {
		t.Error("the host is asked for rights of its tenant")
	}
}
