package oci_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
)

// TestTrickles: a registry that sends a byte from time to time, never as long apart as a pause may be, ends no
// operation by itself. The client ends them.
func TestTrickles(t *testing.T) {
	for name, of := range map[string]func(path string) bool{
		"a manifest": func(path string) bool { return strings.Contains(path, "/manifests/") },
		"a layer":    func(path string) bool { return strings.HasSuffix(path, layout.Digest(module)) },
		"a token":    func(path string) bool { return path == "/token" },
	} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.New(t)
			r.Pack(t, "v1", module)
			r.Override(func(w http.ResponseWriter, req *http.Request) {
				if name == "a token" && req.URL.Path != "/token" && req.Header.Get("Authorization") == "" {
					w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+req.Host+`/token",service="x"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				if !of(req.URL.Path) || req.Method == http.MethodHead {
					return
				}
				w.Header().Set("Content-Type", layout.MediaManifest)
				w.Header().Set("Docker-Content-Digest", layout.Digest(module))
				for req.Context().Err() == nil {
					fmt.Fprint(w, " ")
					_ = http.NewResponseController(w).Flush()
					time.Sleep(20 * time.Millisecond)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // far more than the attempts of the client take
			defer cancel()
			c := oci.New(oci.Options{Configs: [][]byte{}, Stall: 200 * time.Millisecond})
			t.Cleanup(c.Close)
			m, err := c.Manifest(ctx, r.Ref("v1"))
			if err == nil {
				m.Module.Size = 64 << 20 // of the layer that never ends
				_, err = c.Layer(ctx, m)
			}
			if err == nil || !strings.Contains(err.Error(), "sends too slowly") || ctx.Err() != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestClientsForgetWhatRegistriesChoose: a registry chooses other scopes, tokens and hosts with each answer. A client
// that follows a tag for months does not keep all of them.
func TestClientsForgetWhatRegistriesChoose(t *testing.T) {
	const rounds, size = 300, 64 << 10
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		n++
		switch {
		case req.URL.Path == "/token":
			fmt.Fprintf(w, `{"token":"%d-%s"}`, n, strings.Repeat("t", size))
		case !strings.HasPrefix(req.Header.Get("Authorization"), fmt.Sprintf("Bearer %d-", n-1)):
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="x",scope="%d-%s"`, req.Host, n, strings.Repeat("s", size)))
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set("Location", fmt.Sprintf("https://127.0.0.1:%d/", 1+n%65000)) // where nothing listens
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	tag := oci.Reference{Registry: strings.TrimPrefix(server.URL, "http://"), Repository: ocitest.Repository, Tag: "v1"}
	c := oci.New(oci.Options{Configs: [][]byte{}})
	t.Cleanup(c.Close)
	resolve := func(times int) {
		for range times {
			if _, err := c.Resolve(t.Context(), tag); err == nil {
				t.Fatal("resolved")
			}
		}
	}
	resolve(20)
	before := heap()
	resolve(rounds)
	if grown := heap() - before; grown > rounds*size/4 {
		t.Errorf("the client has kept %d bytes of %d answers", grown, rounds)
	}
}

// heap returns the size of the heap, in bytes.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
