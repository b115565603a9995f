package watching

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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
		return clients.Options{RequestTimeout: time.Second}
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

	stream = &Stream{Client: client, Path: stream.Path, APIVersion: stream.APIVersion, Kind: stream.Kind, Options: stream.Options, Log: stream.Log, Common: true}
	stream.Keep = func(meta Meta) bool { return meta.Name == "b" }
	list = fmt.Sprintf(`{"items":[%s,%s],"metadata":{"resourceVersion":"30"}}`, object("a", 1), object("b", 2))
	run(":a:1", ":b:2", "listed")
	list = `{"items":[],"metadata":{"resourceVersion":"40"}}`
	run("DELETED:b:2", "listed") // the end of the other one does not matter
}
