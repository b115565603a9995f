package watching

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// listing is a server with some objects, whose watch sends nothing.
type listing struct {
	mu             sync.Mutex // guards the fields below
	items          string
	fail           bool // the next listing fails
	lists, watches int
}

func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.URL.Query().Get("watch") != "" {
		l.watches++
		l.mu.Unlock()
		<-r.Context().Done()
		l.mu.Lock()
		return
	}
	if l.lists++; l.fail {
		l.fail = false
		w.WriteHeader(http.StatusTeapot)
		return
	}
	fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[%s]}`, l.items)
}

// Objects are shown again in the state that the stream has passed last. Newer states and
// deletions come from the watch, which stays open. A listing that fails is repeated.
func TestAgain(t *testing.T) {
	l := &listing{items: object("same", 1) + "," + object("changing", 2) + "," + object("going", 3)}
	server := httptest.NewServer(l)
	defer server.Close()
	client := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL}}), func() clients.Options {
		return clients.Options{RequestTimeout: time.Minute}
	}, func(string) {})
	stream := &Stream{Client: client, Path: "/x", Options: func() Options { return Options{} }, Log: func(int, string) {}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	first, again := &sink{}, &sink{}
	running.Go(func() { _ = stream.Run(ctx, first) })
	for !stream.Health().Synced {
		time.Sleep(time.Millisecond)
	}
	l.mu.Lock()
	l.items, l.fail = object("same", 1)+","+object("changing", 8)+","+object("new", 9), true
	l.mu.Unlock()
	if err := stream.Again(ctx, again); err != nil {
		t.Fatal(err)
	}
	cancel()
	running.Wait()
	if diff := cmp.Diff([]string{":same:1", "listed"}, again.seen); diff != "" {
		t.Errorf("shown again (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{":same:1", ":changing:2", ":going:3", "listed"}, first.seen); diff != "" {
		t.Errorf("by the stream (-want +got):\n%s", diff)
	}
	if l.watches != 1 || l.lists != 3 {
		t.Errorf("%d watches and %d listings, want 1 and 3", l.watches, l.lists)
	}
	if err := stream.Again(ctx, again); err == nil {
		t.Error("it continues after the end")
	}
}

// TestWaitingForAListingCostsNothing: a resource may be forbidden or missing for as long as the operator runs.
func TestWaitingForAListingCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, done := &Stream{}, make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- s.Again(ctx, nil) }()
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		time.Sleep(time.Hour)
		runtime.ReadMemStats(&after)
		if wakes := after.Mallocs - before.Mallocs; wakes > 10_000 {
			t.Errorf("%d allocations in an hour", wakes)
		}
		cancel()
		if err := <-done; err == nil {
			t.Error("it ended without the objects")
		}
	})
}
