package apiserver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/hosting/apiserver"
)

// restarted is a server whose first watch ends with the version 20. Its data then have another version.
type restarted struct {
	dynamic.ResourceInterface
	version string
	watches int
}

func (s *restarted) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	page := &unstructured.UnstructuredList{}
	page.SetResourceVersion(s.version)
	return page, nil
}

func (s *restarted) Watch(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	w := watch.NewFakeWithChanSize(1, false)
	if s.watches++; s.watches == 1 {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetResourceVersion("20")
		w.Modify(object)
		w.Stop()
		return w, nil
	}
	context.AfterFunc(ctx, w.Stop)
	return w, nil
}

// TestOlderDataAreListedAgain: a server that was restored from a backup accepts a watch from the version that it had before, and sends
// nothing until it has that version again. A host would not see declarations for hours.
func TestOlderDataAreListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for version, older := range map[string]bool{"7": true, "20": false, "30": false, "unknown": false} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			s := &restarted{version: version}
			err := apiserver.Follow(ctx, s, "10", apiserver.Watcher{Changed: func(*unstructured.Unstructured) {}})
			cancel()
			if expired := apierrors.IsResourceExpired(err); expired != older || s.watches != 2 {
				t.Errorf("the version %s after 20: %d watches, %v", version, s.watches, err)
			}
		}
	})
}
