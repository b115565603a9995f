package watching

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// scripted runs a stream against a server until it has opened the given number of watches.
func scripted(t *testing.T, options Options, watches int, serve func(w http.ResponseWriter, watch int)) (*Stream, *sink) {
	t.Helper()
	return scriptedStream(t, options, watches, serve, func(*Stream, *sink) {})
}

// scriptedStream is scripted, with a function that prepares the stream.
func scriptedStream(t *testing.T, options Options, watches int, serve func(w http.ResponseWriter, watch int), prepare func(*Stream, *sink)) (*Stream, *sink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	made := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprintf(w, `{"items":[%s],"metadata":{"resourceVersion":"5"}}`, object("a", 1))
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if made++; made > watches {
			cancel()
			return
		}
		serve(w, made)
	}))
	defer server.Close()
	client := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL}}), func() clients.Options {
		return clients.Options{RequestTimeout: time.Minute}
	}, func(string) {})
	stream := &Stream{Client: client, Path: "/x", Options: func() Options { return options }, Log: func(int, string) {}}
	seen := &sink{}
	prepare(stream, seen)
	_ = stream.Run(ctx, seen)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("%d watches were made, want %d", made, watches)
	}
	return stream, seen
}

// If each watch expires as soon as it begins, the stream pauses between listings. If
// watches expire after events, it lists at once.
func TestExpiryInLoops(t *testing.T) {
	t.Parallel()
	gone := line("ERROR", `{"kind":"Status","code":410,"message":"too old"}`)
	for name, tt := range map[string]struct {
		answer   string
		failures uint64
	}{"at once": {gone, 3}, "after an event": {line("MODIFIED", object("a", 6)) + gone, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream, _ := scripted(t, Options{}, 3, func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, tt.answer) })
			if got := stream.Health().Failures; got != tt.failures {
				t.Errorf("%d failures, want %d", got, tt.failures)
			}
		})
	}
}

// A value that is not an object is not passed on, and the objects are listed again.
func TestGarbageInWatches(t *testing.T) {
	t.Parallel()
	garbage := []string{line("ADDED", `{}`), line("DELETED", `null`), "<html>\n"}
	stream, seen := scripted(t, Options{}, len(garbage), func(w http.ResponseWriter, watch int) { _, _ = io.WriteString(w, garbage[watch-1]) })
	want := strings.Split(strings.Repeat(":a:1 listed ", len(garbage)+1), " ")
	if diff := cmp.Diff(want[:len(want)-1], seen.seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := stream.Health().Failures; got != uint64(len(garbage)) {
		t.Errorf("%d failures, want %d", got, len(garbage))
	}
}

// Only the bookmark with the annotation ends a streamed listing. Earlier bookmarks may
// have other annotations.
func TestBookmarksInStreamedListings(t *testing.T) {
	t.Parallel()
	end := `{"kind":"K","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`
	answer := line("ADDED", object("a", 1)) +
		line("BOOKMARK", `{"kind":"K","metadata":{"resourceVersion":"2","annotations":{"x":"true"}}}`) + line("ADDED", object("b", 3)) +
		line("BOOKMARK", end) + line("ADDED", object("c", 10)) + line("BOOKMARK", `{"kind":"K","metadata":{}}`)
	_, seen := scripted(t, Options{InitialStreaming: true}, 1, func(w http.ResponseWriter, _ int) { _, _ = io.WriteString(w, answer) })
	if diff := cmp.Diff([]string{":a:1", ":b:3", "listed", "ADDED:c:10"}, seen.seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
