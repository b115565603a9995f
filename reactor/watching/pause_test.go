package watching

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// The second run of a stream reports an object that was deleted between two runs.
func TestDeletedBetweenRuns(t *testing.T) {
	list := fmt.Sprintf(`{"items":[%s,%s],"metadata":{"resourceVersion":"10"}}`, object("a", 1), object("b", 2))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			<-r.Context().Done() // sends nothing
			return
		}
		fmt.Fprint(w, list)
	}))
	defer server.Close()
	client := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL}}), func() clients.Options {
		return clients.Options{RequestTimeout: time.Minute}
	}, func(string) {})
	stream := &Stream{
		Client: client, Path: "/apis/g/v1/ks", APIVersion: "g/v1", Kind: "K",
		Options: func() Options { return Options{InactivityTimeout: time.Minute} },
		Log:     func(int, string) {},
	}
	run := func(want ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		s := &sink{full: cancel, want: len(want)}
		_ = stream.Run(ctx, s) // returns the context's error
		if diff := cmp.Diff(want, s.seen); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
	run(":a:1", ":b:2", "listed")
	list = fmt.Sprintf(`{"items":[%s],"metadata":{"resourceVersion":"20"}}`, object("a", 1))
	run(":a:1", "DELETED:b:2", "listed")

	next := &Stream{Client: client, Path: stream.Path, APIVersion: stream.APIVersion, Kind: stream.Kind, Options: stream.Options, Log: stream.Log}
	next.Inherit(stream.Known())
	stream = next
	list = fmt.Sprintf(`{"items":[%s],"metadata":{"resourceVersion":"3"}}`, object("b", 2))
	run(":b:2", "DELETED:a:1", "listed")

	stream = &Stream{Client: client, Path: stream.Path, APIVersion: stream.APIVersion, Kind: stream.Kind, Options: stream.Options, Log: stream.Log, Keeping: CommonIdentities}
	stream.Keep = func(meta Meta) bool { return meta.Name == "b" }
	list = fmt.Sprintf(`{"items":[%s,%s],"metadata":{"resourceVersion":"30"}}`, object("a", 1), object("b", 2))
	run(":a:1", ":b:2", "listed")
	list = `{"items":[],"metadata":{"resourceVersion":"40"}}`
	run("DELETED:b:2", "listed") // the end of the other one does not matter
}

// A stream that keeps a sum only reports once that objects are gone, and not which.
func TestGoneObjectsOfASum(t *testing.T) {
	var mu sync.Mutex // guards what the server answers
	list, watch := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		list, watch := list, watch
		mu.Unlock()
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprint(w, list)
			return
		}
		fmt.Fprint(w, watch)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	client := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL}}), func() clients.Options {
		return clients.Options{RequestTimeout: time.Minute}
	}, func(string) {})
	stream := &Stream{
		Client: client, Path: "/apis/g/v1/ks", APIVersion: "g/v1", Kind: "K", Keeping: Sum,
		Options: func() Options { return Options{InactivityTimeout: time.Minute} },
		Log:     func(int, string) {},
	}
	steps := []struct {
		name, listed, watched string
		want                  []string
	}{
		{"begin", object("a", 1) + "," + object("b", 2), line("ADDED", object("c", 11)) + line("MODIFIED", object("c", 12)), []string{":a:1", ":b:2", "listed", "ADDED:c:11", "MODIFIED:c:12"}},
		{"unchanged", object("a", 1) + "," + object("c", 12) + "," + object("b", 2), "", []string{":a:1", ":c:12", ":b:2", "listed"}},
		{"two are gone", object("b", 2), "", []string{":b:2", "DELETED::", "listed"}},
		{"unchanged again", object("b", 2), line("DELETED", object("b", 2)), []string{":b:2", "listed", "DELETED:b:2"}},
		{"empty, as expected", "", "", []string{"listed"}},
	}
	for _, step := range steps {
		mu.Lock()
		list, watch = fmt.Sprintf(`{"items":[%s],"metadata":{"resourceVersion":"20"}}`, step.listed), step.watched
		mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		s := &sink{full: cancel, want: len(step.want)}
		_ = stream.Run(ctx, s) // returns the context's error
		cancel()
		if diff := cmp.Diff(step.want, s.seen); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", step.name, diff)
		}
	}
}
