package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/gateway"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/webhooks"
)

func declaration(kind api.Kind, name string) *hosting.Declaration {
	d := &hosting.Declaration{Key: hosting.Key{Kind: kind, Name: name}, Spec: api.Spec{ServiceAccountName: "sa", ServiceAccountNamespace: "ns"}}
	if kind == api.Namespaced {
		d.Key.Namespace = "ns"
	}
	return d
}

// TestNamesAreOfOneOperator: no two operators have the same path or configuration, and the
// names of webhooks have room for ids.
func TestNamesAreOfOneOperator(t *testing.T) {
	seen := map[string]bool{}
	for _, key := range []hosting.Key{
		{Kind: api.Namespaced, Namespace: "b", Name: "a"},
		{Kind: api.Namespaced, Namespace: "a", Name: "b"},
		{Kind: api.Namespaced, Namespace: "b", Name: "a.b"},
		{Kind: api.Cluster, Name: "a"},
		{Kind: api.Cluster, Name: "a.b"},
		{Kind: api.Cluster, Name: "a.b.wasmoperators"},
		{Kind: api.Namespaced, Namespace: strings.Repeat("n", 63), Name: strings.Repeat("x", 252) + "1"},
		{Kind: api.Namespaced, Namespace: strings.Repeat("n", 63), Name: strings.Repeat("x", 252) + "2"},
	} {
		name, path := gateway.Name(key), gateway.Path(key)
		if seen[name] || seen[path] || len(name) > 150 {
			t.Errorf("%s: %s, %s", key, name, path)
		}
		seen[name], seen[path] = true, true
	}
	if name := gateway.Name(declaration(api.Namespaced, "mailer").Key); name != "mailer.ns.wasmoperators.hosting.kopf.dev" {
		t.Error(name)
	}
	long := gateway.Name(hosting.Key{Kind: api.Namespaced, Namespace: "ns", Name: strings.Repeat("x", 200)})
	hash, _, _ := strings.Cut(long, ".")
	if taken := gateway.Name(hosting.Key{Kind: api.Namespaced, Namespace: "ns", Name: hash}); taken == long {
		t.Errorf("an operator with the name %s has the configurations of one with a long name", hash)
	}
}

// authorizer is an API server that answers about rights.
type authorizer struct {
	mu      sync.Mutex // guards all below
	allowed []string   // VERB RESOURCE.GROUP NAMESPACE
	asked   []string
	fails   int // of the next questions
}

func (a *authorizer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var review map[string]any
	if json.NewDecoder(r.Body).Decode(&review) != nil || r.URL.Path != "/apis/authorization.k8s.io/v1/subjectaccessreviews" || a.fails > 0 {
		a.fails--
		w.WriteHeader(http.StatusForbidden)
		return
	}
	spec := review["spec"].(map[string]any)
	at := spec["resourceAttributes"].(map[string]any)
	right := fmt.Sprintf("%s %s.%s %s", at["verb"], at["resource"], at["group"], at["namespace"])
	a.asked = append(a.asked, right)
	ok := spec["user"] == "system:serviceaccount:ns:sa" && slices.Contains(a.allowed, right)
	json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"allowed": ok}})
}

func permitted(t *testing.T, a *authorizer, d *hosting.Declaration, scope *webhooks.Scope, handlers ...reviews.Handler) error {
	t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	g, err := gateway.New(gateway.Options{Server: json.RawMessage(`"server"`), Config: &rest.Config{Host: server.URL}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	admission := g.Admission(d, scope)
	if admission.Managed != gateway.Name(d.Key) || admission.Tenancy.Scope != scope || admission.Custom == nil {
		t.Errorf("admission %+v", admission)
	}
	return admission.Tenancy.Permit(t.Context(), handlers)
}

// territory is the namespace a, for now.
type territory struct{ webhooks.Territory }

func (territory) Names() []string { return []string{"a"} }

// TestHandlersNeedVerbs: the service account needs the verb of each kind of handlers for each
// resource, in the scope of the webhooks.
func TestHandlersNeedVerbs(t *testing.T) {
	resource := selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "things", Namespaced: true}
	handler := func(kind abi.Kind) reviews.Handler {
		return reviews.Handler{ID: string(kind), Spec: abi.Handler{Kind: kind}, Resources: []selectors.Resource{resource}}
	}
	check, fill, convert := handler(abi.KindValidate), handler(abi.KindMutate), handler(abi.KindConvert)
	tests := []struct {
		kind     api.Kind
		scope    *webhooks.Scope
		handlers []reviews.Handler
		allowed  string
		says     string
	}{
		{api.Namespaced, &webhooks.Scope{Namespaces: []string{"ns"}}, []reviews.Handler{check}, "validate things.kopf.dev ns", ""},
		{api.Namespaced, &webhooks.Scope{Namespaces: []string{"ns"}}, []reviews.Handler{check, fill}, "validate things.kopf.dev ns", "the service account ns/sa may not mutate things.kopf.dev in the namespace ns"},
		{api.Cluster, &webhooks.Scope{Namespaces: []string{"a", "b"}}, []reviews.Handler{check}, "validate things.kopf.dev a", "validate things.kopf.dev in the namespace b"},
		{api.Cluster, nil, []reviews.Handler{check}, "validate things.kopf.dev a", "may not validate things.kopf.dev in the whole cluster"},
		{api.Cluster, &webhooks.Scope{Territory: territory{}}, []reviews.Handler{check}, "validate things.kopf.dev a", "may not validate things.kopf.dev in the whole cluster"},
		{api.Cluster, nil, []reviews.Handler{fill, convert}, "mutate things.kopf.dev ", ""},
	}
	for i, tt := range tests {
		err := permitted(t, &authorizer{allowed: []string{tt.allowed}, fails: max(0, 1-i)}, declaration(tt.kind, "a"), tt.scope, tt.handlers...)
		var refusal *hosting.Refusal
		if tt.says == "" && err != nil || tt.says != "" && (!errors.As(err, &refusal) || refusal.Condition != api.Granted || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%+v: %v, want %q", tt, err, tt.says)
		}
	}
	many := check
	many.Resources = nil
	for i := range 20 {
		many.Resources = append(many.Resources, selectors.Resource{Group: "kopf.dev", Plural: fmt.Sprint("things", i)})
	}
	var odd []reviews.Handler
	for i := range 300 {
		h := many
		h.Spec.Subresource = fmt.Sprint("s", i)
		odd = append(odd, h)
	}
	refused := &authorizer{}
	if err := permitted(t, refused, declaration(api.Cluster, "a"), nil, odd...); err == nil || !strings.Contains(err.Error(), "need more than 1000 rights") || len(refused.asked) > 2 {
		t.Errorf("%v, asked %d questions", err, len(refused.asked))
	}
	a := &authorizer{allowed: []string{"validate *.* ", "mutate *.* "}}
	if err := permitted(t, a, declaration(api.Cluster, "a"), nil, many); err != nil || len(a.asked) != 2 {
		t.Errorf("%v, asked %q", err, a.asked)
	}
}

// TestServersHaveOptions: bad ones are refused, and the secret is known before the start.
func TestServersHaveOptions(t *testing.T) {
	if _, err := gateway.New(gateway.Options{Server: json.RawMessage(`{"type":"nothing"}`), Config: &rest.Config{}}); err == nil {
		t.Error("an unknown type is accepted")
	}
	secret, err := gateway.SecretOf(json.RawMessage(`{"type":"server","secret":{"namespace":"kopf-system","name":"cert"}}`))
	if err != nil || secret == nil || secret.String() != "kopf-system/cert" {
		t.Errorf("%v, %v", secret, err)
	}
	if secret, err := gateway.SecretOf(json.RawMessage(`"server"`)); secret != nil || err != nil {
		t.Errorf("%v, %v", secret, err)
	}
}
