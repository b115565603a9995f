package objects

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

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

// TestAMissingDefinitionIsNotBelievedAtOnce: a proxy without a server answers 404, too. All operators ended at the first such answer.
func TestAMissingDefinitionIsNotBelievedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, begun := guarding(t), time.Now()
		x.client = defined{missing: func() bool {
			d := time.Since(begun)
			return d > time.Minute && d < 90*time.Second || d > time.Hour
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { // Waited for below.
			defer close(ended)
			x.follow(ctx, place{api.Namespaced, ""}, x.sink)
		}()
		time.Sleep(time.Hour + 30*time.Second)
		if synctest.Wait(); len(x.calls) < 2 || slices.Contains(x.calls, "remove") {
			t.Errorf("after half a minute: %v", x.calls)
		}
		time.Sleep(10 * time.Minute)
		if synctest.Wait(); len(x.calls) == 0 || x.calls[len(x.calls)-1] != "remove" {
			t.Errorf("after minutes: %v", x.calls)
		}
		cancel()
		<-ended
	})
}
