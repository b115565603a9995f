package places

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// cluster has namespaces.
type cluster struct {
	dynamic.ResourceInterface

	mu      sync.Mutex // guards all below
	items   []unstructured.Unstructured
	fails   error // of the next lists
	lists   int
	watches []*watch.FakeWatcher
}

func namespace(name string, labels ...string) unstructured.Unstructured {
	object := unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	object.SetName(name)
	set := map[string]string{}
	for _, label := range labels {
		set[label] = "x"
	}
	object.SetLabels(set)
	return object
}

func (c *cluster) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	return &unstructured.UnstructuredList{Items: slices.Clone(c.items)}, c.fails
}

func (c *cluster) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := watch.NewFakeWithChanSize(10, false)
	c.watches = append(c.watches, w)
	return w, nil
}

// last returns the newest watch, and the number of lists and watches.
func (c *cluster) last() (w *watch.FakeWatcher, lists, watches int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.watches); n > 0 {
		w = c.watches[n-1]
	}
	return w, c.lists, len(c.watches)
}

// following runs places, and follows a selection.
type following struct {
	mu     sync.Mutex // guards served
	served []string
}

func (f *following) serve(names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served = append(f.served, strings.Join(names, " "))
}

func (f *following) got() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.served)
}

func labelled(_ string, set map[string]string) bool { return set["team"] != "" }

// TestOneWatchServesAllSelections: each follows what it selects, and nothing is watched
// before the first one.
func TestOneWatchServesAllSelections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{items: []unstructured.Unstructured{namespace("a", "team"), namespace("b")}}
		p := newPlaces(c, zerolog.Nop())
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { p.Run(ctx) })
		time.Sleep(time.Hour)
		if _, lists, watches := c.last(); lists+watches != 0 {
			t.Errorf("%d lists, %d watches", lists, watches)
		}
		var teams, ones following
		all.Go(func() { _ = p.Select(labelled).Follow(ctx, teams.serve) })
		all.Go(func() {
			_ = p.Select(func(name string, _ map[string]string) bool { return len(name) == 1 }).Follow(ctx, ones.serve)
		})
		synctest.Wait()
		w, _, _ := c.last()
		for _, change := range []func(){
			func() { o := namespace("b", "team"); w.Modify(&o) },
			func() { o := namespace("long", "team"); w.Add(&o) },
			func() { o := namespace("a", "other"); w.Modify(&o) },
			func() { o := namespace("a"); w.Delete(&o) },
		} {
			change()
			synctest.Wait()
		}
		if got := teams.got(); !slices.Equal(got, []string{"a", "a b", "a b long", "b long"}) {
			t.Errorf("by labels: %q", got)
		}
		if got := ones.got(); !slices.Equal(got, []string{"a b", "b"}) {
			t.Errorf("by names: %q", got)
		}
		if _, lists, watches := c.last(); lists != 1 || watches != 1 {
			t.Errorf("%d lists, %d watches", lists, watches)
		}
		cancel()
		w.Stop()
		all.Wait()
	})
}

// TestPlacesAreListedAgain: after a failure, and what has changed meanwhile is noticed.
func TestPlacesAreListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{fails: errors.New("forbidden")}
		p := newPlaces(c, zerolog.Nop())
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { p.Run(ctx) })
		teams := p.Select(labelled)
		if err := teams.Wait(ctx); err == nil || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("got %v", err)
		}
		c.mu.Lock()
		c.fails, c.items = nil, []unstructured.Unstructured{namespace("a", "team")}
		c.mu.Unlock()
		time.Sleep(time.Minute)
		if err := teams.Wait(ctx); err != nil || !slices.Equal(teams.Names(), []string{"a"}) {
			t.Errorf("%q, %v", teams.Names(), err)
		}
		c.mu.Lock()
		c.items = []unstructured.Unstructured{namespace("b", "team")}
		c.mu.Unlock()
		w, _, _ := c.last()
		w.Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410})
		time.Sleep(time.Minute)
		if got := teams.Names(); !slices.Equal(got, []string{"b"}) {
			t.Errorf("%q", got)
		}
		cancel()
		w, _, _ = c.last()
		w.Stop()
		all.Wait()
	})
}
