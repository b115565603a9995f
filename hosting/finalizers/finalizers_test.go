package finalizers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/finalizers"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

const own = "kopf.zalando.org/KopfFinalizerMarker"

// server answers as an API server with one object on each page, and notes the writes. The
// end-to-end tests have a real one.
type server struct {
	mu        sync.Mutex // guards all below
	requests  []string
	conflicts int // of the next patches
	forbidden string
	broken    string // a group version without an answer
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if list := r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "/pods/"); strings.HasPrefix(r.URL.Path, "/api/v1/") && list != strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	target := r.URL.Path + "?" + r.URL.Query().Get("continue")
	switch {
	case r.URL.Path == "/api":
		io.WriteString(w, `{"versions":["v1"]}`)
	case r.URL.Path == "/api/v1":
		io.WriteString(w, `{"resources":[{"name":"namespaces","kind":"Namespace"},{"name":"pods","kind":"Pod","namespaced":true},{"name":"nodes","kind":"Node"},{"name":"secrets","kind":"Secret","namespaced":true}]}`)
	case r.URL.Path == "/apis" && s.broken != "":
		fmt.Fprintf(w, `{"groups":[{"name":"example.com","versions":[{"groupVersion":%[1]q,"version":"v1"}],"preferredVersion":{"groupVersion":%[1]q,"version":"v1"}}]}`, s.broken)
	case r.URL.Path == "/apis":
		io.WriteString(w, `{"groups":[]}`)
	case s.broken != "" && r.URL.Path == "/apis/"+s.broken:
		w.WriteHeader(http.StatusServiceUnavailable)
	case s.forbidden != "" && strings.Contains(r.URL.Path, s.forbidden):
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"kind":"Status","message":"secrets is forbidden"}`)
	case r.Method == http.MethodPatch:
		body, _ := io.ReadAll(r.Body)
		s.requests = append(s.requests, fmt.Sprintf("PATCH %s %s", r.URL.Path, body))
		if s.conflicts > 0 {
			s.conflicts--
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"kind":"Status","reason":"Conflict"}`)
		}
	default:
		s.requests = append(s.requests, "GET "+target)
		s.list(w, target)
	}
}

func (*server) list(w io.Writer, target string) {
	object := func(name string, deleted bool, finalizers ...string) metav1.PartialObjectMetadata {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns1", UID: "u", ResourceVersion: "1", Finalizers: finalizers}}
		if deleted {
			o.DeletionTimestamp = new(metav1.Unix(1, 0))
		}
		return o
	}
	list := metav1.PartialObjectMetadataList{}
	switch target {
	case "/api/v1/namespaces?":
		for _, name := range []string{"ns1", "ns2", "other"} {
			list.Items = append(list.Items, object(name, false))
		}
	case "/api/v1/namespaces/ns1/pods?":
		list.Items, list.Continue = append(list.Items, object("a", false, own), object("b", true, "other.dev/x", own, "other.dev/y")), "next"
	case "/api/v1/namespaces/ns1/pods?next":
		list.Items = append(list.Items, object("c", true, own+"2"), object("d", true))
	case "/api/v1/namespaces/ns1/pods/a?":
		changed := object("a", false, "other.dev/z", own)
		changed.ResourceVersion = "2"
		json.NewEncoder(w).Encode(changed)
		return
	}
	json.NewEncoder(w).Encode(list)
}

// opened makes the finalizers of an operator of all pods and nodes of ns*.
func opened(t *testing.T, s *server, resources ...string) *finalizers.Finalizers {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	f := finalizers.New(t.Context(), finalizers.Options{
		Login: func(context.Context) (*credentials.Info, error) {
			return &credentials.Info{Config: &rest.Config{Host: server.URL}}, nil
		},
		Finalizer: own, Resources: resources, Namespaces: []string{"ns*"},
	})
	t.Cleanup(f.Close)
	return f
}

// TestOnlyTheOwnFinalizerIsRemoved: from all objects on all pages of the served namespaces,
// in the version that was read, and others stay.
func TestOnlyTheOwnFinalizerIsRemoved(t *testing.T) {
	s := &server{}
	f := opened(t, s, "pods.v1", "nodes.v1", "absent.v1.example.com")
	if count, err := f.Deleting(t.Context()); count != 1 || err != nil {
		t.Errorf("%d are being deleted, %v", count, err)
	}
	s.requests = nil
	if released, err := f.Release(t.Context()); released != 2 || err != nil {
		t.Errorf("%d released, %v", released, err)
	}
	want := []string{
		"GET /api/v1/namespaces/ns1/pods?",
		`PATCH /api/v1/namespaces/ns1/pods/a {"metadata":{"finalizers":[],"resourceVersion":"1","uid":"u"}}`,
		`PATCH /api/v1/namespaces/ns1/pods/b {"metadata":{"finalizers":["other.dev/x","other.dev/y"],"resourceVersion":"1","uid":"u"}}`,
		"GET /api/v1/namespaces/ns1/pods?next", "GET /api/v1/namespaces/ns2/pods?", "GET /api/v1/nodes?",
	}
	slices.Sort(want)
	slices.Sort(s.requests)
	if !slices.Equal(s.requests, want) {
		t.Errorf("requests\n%s", strings.Join(s.requests, "\n"))
	}
}

// TestAnotherVersionIsTaken: a definition can lose the version that the operator has watched last, such as while the host was away. The
// objects had kept their finalizers then, and could never disappear.
func TestAnotherVersionIsTaken(t *testing.T) {
	if released, err := opened(t, &server{}, "pods.v1beta1", "pods.v1").Release(t.Context()); released != 2 || err != nil {
		t.Errorf("%d released, %v", released, err)
	}
	if released, err := opened(t, &server{}, "pods.v1beta1").Release(t.Context()); released != 2 || err != nil {
		t.Errorf("of another version: %d released, %v", released, err)
	}
}

// TestAConflictIsReadAgain: what others have changed meanwhile stays.
func TestAConflictIsReadAgain(t *testing.T) {
	s := &server{conflicts: 1}
	released, err := opened(t, s, "pods.v1").Release(t.Context())
	if want := `PATCH /api/v1/namespaces/ns1/pods/a {"metadata":{"finalizers":["other.dev/z"],"resourceVersion":"2","uid":"u"}}`; released != 2 || err != nil || !slices.Contains(s.requests, want) {
		t.Errorf("%d released, %v: %q", released, err, s.requests)
	}
	s = &server{conflicts: 5}
	released, err = opened(t, s, "pods.v1").Release(t.Context())
	if released != 1 || err == nil || !strings.Contains(err.Error(), "ns1/a: gave up after 5 conflicts") {
		t.Errorf("%d released, %v", released, err)
	}
}

// TestWhatFailsIsNamed: other resources are released.
func TestWhatFailsIsNamed(t *testing.T) {
	released, err := opened(t, &server{forbidden: "/secrets"}, "secrets.v1", "pods.v1").Release(t.Context())
	if released != 2 || err == nil || !strings.Contains(err.Error(), "GET /api/v1/namespaces/ns1/secrets: secrets is forbidden") {
		t.Errorf("%d released, %v", released, err)
	}
	const broken = "example.com/v1"
	for resource, hidden := range map[string]bool{"things.v1.example.com": true, "things.v2.example.com": true, "things.v1.example.org": false} {
		released, err = opened(t, &server{broken: broken}, resource, "pods.v1").Release(t.Context())
		if named := err != nil && strings.Contains(err.Error(), broken); released != 2 || named != hidden {
			t.Errorf("%s: %d released, %v", resource, released, err)
		}
	}
	absent := errors.New("no account")
	f := finalizers.New(t.Context(), finalizers.Options{
		Login:     func(context.Context) (*credentials.Info, error) { return nil, absent },
		Finalizer: own, Resources: []string{"pods.v1"},
	})
	defer f.Close()
	if _, err := f.Release(t.Context()); !errors.Is(err, absent) {
		t.Errorf("without an account: %v", err)
	}
}
