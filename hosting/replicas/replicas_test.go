package replicas_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/replicas"
	"github.com/kopf-wasm/kopf/operator"
)

// TestNamesOfLeases: what a Lease cannot have as its name is refused before anything is asked.
func TestNamesOfLeases(t *testing.T) {
	for lease, want := range map[string][2]string{
		"": {"", "kopf-serve"}, "hosts": {"", "hosts"}, "ns/hosts": {"ns", "hosts"}, "ns/": {"ns", "kopf-serve"}, "a.b": {"", "a.b"},
		"/hosts": {}, "Bad": {}, "a_b": {}, "a b": {}, "ns/a/b": {}, "NS/a": {}, "-a": {}, "..": {}, strings.Repeat("x", 254): {},
	} {
		namespace, name, err := replicas.Named(lease)
		if got := [2]string{namespace, name}; got != want || (err == nil) != (want != [2]string{}) || err != nil && !errors.Is(err, operator.ErrReplicas) {
			t.Errorf("%q: %q, %v; want %q", lease, got, err, want)
		}
	}
	_, err := replicas.New(t.Context(), replicas.Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Identity: "pod", Duration: time.Second})
	if !errors.Is(err, operator.ErrReplicas) || !strings.Contains(err.Error(), "at least 2s") {
		t.Errorf("a second: %v", err)
	}
}

// TestEachProcessIsAReplicaOfItsOwn: a pod that starts its host again must not take the Lease of the former process for its own.
func TestEachProcessIsAReplicaOfItsOwn(t *testing.T) {
	made := func() *replicas.Replica {
		t.Helper()
		r, err := replicas.New(t.Context(), replicas.Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Identity: "pod-0"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := made(), made()
	if a.Name() == b.Name() || !strings.HasPrefix(a.Name(), "pod-0_") || a.Duration() != operator.DefaultLeaseDuration {
		t.Errorf("%s and %s wait for %v", a.Name(), b.Name(), a.Duration())
	}
	var out bytes.Buffer
	log := a.Log(zerolog.New(&out))
	log.Info().Msg("x")
	if !strings.Contains(out.String(), `"replica":"`+a.Name()+`"`) {
		t.Errorf("a line of the log: %s", out.String())
	}
	if _, err := a.Hold(); !errors.Is(err, operator.ErrLeaseLost) {
		t.Errorf("before it leads: %v", err)
	}
}

// TestMissingRightsAreNamed: once, at the start, with the command that grants them.
func TestMissingRightsAreNamed(t *testing.T) {
	for _, tt := range []struct {
		allowed string // verbs
		says    string // empty: there is no error
	}{
		{"get create update", ""},
		{"get", "it may not create, update leases.coordination.k8s.io hosts in the namespace own: run: kopf serve --install --replicas leader --lease own/hosts | kubectl apply -f -"},
		{"", "it may not get, create, update leases"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var review struct {
				Spec struct {
					Attributes struct{ Verb, Group, Resource, Namespace, Name string } `json:"resourceAttributes"`
				}
			}
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.URL.Path != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" {
				t.Errorf("%s: %v", r.URL.Path, err)
			}
			at := review.Spec.Attributes
			if at.Group != "coordination.k8s.io" || at.Resource != "leases" || at.Namespace != "own" || (at.Name == "hosts") != (at.Verb != "create") {
				t.Errorf("asked for %+v", at)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"allowed": strings.Contains(tt.allowed, at.Verb)}})
		}))
		r, err := replicas.New(t.Context(), replicas.Options{Config: &rest.Config{Host: server.URL}, Identity: "pod", Namespace: "own", Lease: "hosts"})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Check(t.Context())
		if errors.Is(err, replicas.ErrForbidden) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v", tt.allowed, err)
		}
		server.Close()
		if err := r.Check(t.Context()); err == nil || errors.Is(err, replicas.ErrForbidden) || !strings.Contains(err.Error(), "cannot be checked") {
			t.Errorf("without an API server: %v", err)
		}
	}
}
