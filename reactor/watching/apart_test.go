package watching

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Watches apart are over HTTP/1.1, unless only the pings of HTTP/2 would notice a dead connection.
func TestWatchesApart(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"type":"ADDED","object":{"metadata":{"name":"%d"}}}`+"\n", r.ProtoMajor)
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
	client := clients.New(credentials.Of(credentials.Info{Config: config}), func() clients.Options { return clients.Options{} }, func(string) {})
	for _, tt := range []struct {
		apart    bool
		patience time.Duration
		want     string
	}{{true, time.Minute, "1"}, {true, 0, "2"}, {false, time.Minute, "2"}} {
		lines, err := Connection{client, tt.apart}.Watch(t.Context(), Request{Path: "/x", Options: Options{InactivityTimeout: tt.patience}, Active: func() {}})
		if err != nil {
			t.Fatal(err)
		}
		event, err := lines.Next(t.Context())
		if err != nil || event.Meta.Name != tt.want {
			t.Errorf("apart %t, patience %v: HTTP/%s, %v, want HTTP/%s", tt.apart, tt.patience, event.Meta.Name, err, tt.want)
		}
		if _, err := lines.Next(t.Context()); err != io.EOF { //nolint:errorlint // as streams compare
			t.Errorf("got %v at the end", err)
		}
		lines.Close()
	}
}
