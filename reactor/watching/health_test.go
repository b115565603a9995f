package watching

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// TestRefusalsShowAtOnce: the client repeats refused requests for a minute, but the health of the stream has the refusal at once, of
// listings and of watches.
func TestRefusalsShowAtOnce(t *testing.T) {
	for _, refused := range []string{"list", "watch"} {
		t.Run(refused, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if watch := r.URL.Query().Has("watch"); watch != (refused == "watch") {
					fmt.Fprint(w, `{"items":[],"metadata":{"resourceVersion":"5"}}`)
					return
				}
				http.Error(w, "you may not "+refused, http.StatusForbidden)
				asked <- struct{}{}
			}))
			defer server.Close()
			client := clients.New(credentials.Of(credentials.Info{Config: &rest.Config{Host: server.URL}}), func() clients.Options {
				return clients.Options{Backoffs: backoffs.Seconds(3600)}
			}, func(string) {})
			stream := &Stream{Client: client, Path: "/x", Options: func() Options { return Options{} }, Log: func(int, string) {}}
			go func() { _ = stream.Run(t.Context(), &sink{}) }() // it ends with the test
			<-asked
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				h := stream.Health()
				if h.Forbidden && h.Error != "" && !h.Delivers(time.Now()) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("the health is %+v", h)
				}
			}
		})
	}
}
