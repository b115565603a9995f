package objects

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
)

// defined is a cluster with one declaration, whose watches last a minute.
type defined struct {
	dynamic.NamespaceableResourceInterface
	missing func() bool // whether the definition is
}

func (d defined) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return d
}

func (d defined) Namespace(string) dynamic.ResourceInterface { return d }

func (d defined) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if d.missing() {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "wasmoperators"}, "")
	}
	page := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*declared("a", nil)}}
	page.SetResourceVersion("1")
	return page, nil
}

func (d defined) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if _, err := d.List(ctx, options); err != nil {
		return nil, err
	}
	w := watch.NewFake()
	time.AfterFunc(time.Minute, w.Stop)
	return w, nil
}

// changes counts what a source declares.
type changes struct{ declared, removed atomic.Int64 }

func (c *changes) Declare(hosting.Declaration) { c.declared.Add(1) }

func (c *changes) Remove(hosting.Key) { c.removed.Add(1) }

// TestRefusalsNameTheServer: the answer of a server that does not accept the credentials was the whole error: Unauthorized.
func TestRefusalsNameTheServer(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusInternalServerError} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		defer server.Close()
		s, err := New(Options{Config: &rest.Config{Host: server.URL}, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context(), true); err == nil || !strings.Contains(err.Error(), "wasmoperators.hosting.kopf.dev at "+server.URL+": ") {
			t.Errorf("%d: got %v", code, err)
		}
	}
}

// TestAMissingDefinitionIsNotBelievedAtOnce: a proxy without a server answers 404, too. All operators ended at the first such answer.
func TestAMissingDefinitionIsNotBelievedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, begun, seen := guarding(t), time.Now(), &changes{}
		x.client = defined{missing: func() bool {
			d := time.Since(begun)
			return d > time.Minute && d < 90*time.Second || d > time.Hour
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { // Waited for below.
			defer close(ended)
			x.follow(ctx, place{api.Namespaced, ""}, seen)
		}()
		time.Sleep(time.Hour + 30*time.Second)
		if declared, removed := seen.declared.Load(), seen.removed.Load(); declared < 2 || removed != 0 {
			t.Errorf("after half a minute: declared %d times, removed %d times", declared, removed)
		}
		time.Sleep(10 * time.Minute)
		if removed := seen.removed.Load(); removed != 1 {
			t.Errorf("after minutes: removed %d times", removed)
		}
		cancel()
		<-ended
	})
}
