package apiserver

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// pause is between two watches, so that a server that ends watches at once is not flooded.
const pause = 100 * time.Millisecond

// Watcher gets the changes of objects.
type Watcher struct {
	Changed func(object *unstructured.Unstructured) // added or modified
	Deleted func(object *unstructured.Unstructured)
}

// Follow watches objects from a version on, by one watch after the other, until one fails.
//
// Errors: those of the watch; the objects have to be listed again, because the version is too old, or because the server has older data
// than before.
func Follow(ctx context.Context, client dynamic.ResourceInterface, version string, to Watcher) error {
	for again := false; ; again = true {
		next, err := follow(ctx, client, version, again, to)
		if err != nil {
			return err
		}
		version = next
	}
}

// follow watches until the watch ends. It returns the version to continue from. The version may be from an earlier watch.
func follow(ctx context.Context, client dynamic.ResourceInterface, version string, again bool, to Watcher) (string, error) {
	stream, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		return "", err
	}
	defer stream.Stop()
	if again {
		if err := isSameServer(ctx, client, version); err != nil {
			return "", err
		}
	}
	for event := range stream.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Error || !ok {
			return "", apierrors.FromObject(event.Object)
		}
		version = object.GetResourceVersion()
		switch event.Type {
		case watch.Added, watch.Modified:
			to.Changed(object)
		case watch.Deleted:
			to.Deleted(object)
		case watch.Bookmark, watch.Error:
		}
	}
	return version, backoffs.Pause(ctx, pause)
}

// isSameServer fails if the server has older data than a version that it has returned before: it was restored from a backup. Such a server
// accepts a watch from the future version, and sends nothing until it has reached that version. It is asked after the watch was opened: if
// it is replaced later, that watch ends.
func isSameServer(ctx context.Context, client dynamic.ResourceInterface, version string) error {
	page, err := client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	if now := page.GetResourceVersion(); watching.IsLater(version, now) {
		return apierrors.NewResourceExpired(fmt.Sprintf("the server has older data than before: the version %s after %s", now, version))
	}
	return nil
}

// pageSize is the number of objects in a page. Tenants choose how large their objects are, up to megabytes, and all of a page are in
// memory at once, in several times their size.
const pageSize = 10

// List passes all objects, page by page. It returns the version from which Follow continues.
//
// Errors: those of the API server. Some objects may have been passed then.
func List(ctx context.Context, client dynamic.ResourceInterface, do func(object *unstructured.Unstructured)) (version string, err error) {
	for options := (metav1.ListOptions{Limit: pageSize}); ; {
		page, err := client.List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			do(&page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return page.GetResourceVersion(), nil
		}
	}
}
