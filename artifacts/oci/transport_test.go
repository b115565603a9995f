package oci_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
	"github.com/kopf-wasm/kopf/test/porttest"
)

// module is what the registries of these tests serve.
var module = []byte("\x00asm\x01\x00\x00\x00 of another host")

// listing are sources with some hosts that may be insecure.
func listing(t *testing.T, hosts ...string) *sources.Sources {
	t.Helper()
	s, err := sources.Parse(fmt.Appendf(nil, "insecure_sources: [%s]", `"`+strings.Join(hosts, `","`)+`"`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// secretive is a server without TLS on this machine, which no registry may lead requests to.
func secretive(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write(module)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// fetch gets the module that a registry serves under the tag v1.
func fetch(t *testing.T, c *oci.Client, r oci.Reference) error {
	t.Helper()
	t.Cleanup(c.Close)
	m, err := c.Manifest(t.Context(), r)
	if err != nil {
		return err
	}
	_, err = c.Layer(t.Context(), m)
	return err
}

// Without TLS, the registry on this machine that was asked for is spoken to, and no server that
// it leads to, on this machine either, unless the server is listed.
func TestRedirectsToServersWithoutTLS(t *testing.T) {
	for name, lead := range map[string]func(w http.ResponseWriter, req *http.Request, to string){
		"a layer": func(w http.ResponseWriter, req *http.Request, to string) {
			http.Redirect(w, req, to, http.StatusTemporaryRedirect)
		},
		"a token": func(w http.ResponseWriter, _ *http.Request, to string) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+to+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
	} {
		for _, listed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, listed: %v", name, listed), func(t *testing.T) {
				to, asked := secretive(t)
				r := ocitest.New(t)
				r.Pack(t, "v1", module)
				r.Override(func(w http.ResponseWriter, req *http.Request) {
					if strings.HasSuffix(req.URL.Path, layout.Digest(module)) {
						lead(w, req, to)
					}
				})
				o := oci.Options{}
				if listed {
					o.Sources = listing(t, strings.TrimPrefix(to, "http://"))
				}
				err := fetch(t, oci.New(o), r.Ref("v1"))
				if !listed && (err == nil || !strings.Contains(err.Error(), "must not be reached without TLS")) {
					t.Errorf("error %v", err)
				}
				if n := asked.Load(); (n > 0) != listed {
					t.Errorf("it was asked %d times", n)
				}
			})
		}
	}
}

// A registry with TLS leads to no server without TLS, and not to itself without TLS either.
func TestRedirectsFromTLS(t *testing.T) {
	to, asked := secretive(t)
	var target atomic.Value
	target.Store(to)
	plain := ocitest.New(t)
	plain.Pack(t, "v1", module)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, layout.Digest(module)) {
			http.Redirect(w, req, target.Load().(string), http.StatusTemporaryRedirect)
			return
		}
		plain.Config.Handler.ServeHTTP(w, req)
	}))
	t.Cleanup(secure.Close)
	host := strings.TrimPrefix(secure.URL, "https://")
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	s, err := sources.Parse(fmt.Appendf(nil, "source_authorities: {%q: [{type: Data, data: %q}]}", host, authority))
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{to, "http://" + host + "/again"} {
		target.Store(to)
		err = fetch(t, oci.New(oci.Options{Sources: s}), oci.Reference{Registry: host, Repository: ocitest.Repository, Tag: "v1"})
		if err == nil || !strings.Contains(err.Error(), "must not be reached without TLS") {
			t.Errorf("to %s: error %v", to, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("it was asked %d times", n)
	}
}

// A registry that was down when it was first asked is not spoken to without TLS later:
// only its own answer to TLS says that it has none.
func TestRegistryThatWasDownAtFirst(t *testing.T) {
	for _, listed := range []bool{false, true} {
		t.Run(fmt.Sprint("listed: ", listed), func(t *testing.T) {
			host := porttest.Unused(t)
			o := oci.Options{Stall: 5 * time.Second}
			if listed {
				o.Sources = listing(t, host)
			}
			c := oci.New(o)
			r := oci.Reference{Registry: host, Repository: ocitest.Repository, Tag: "v1"}
			if err := fetch(t, c, r); !errors.Is(err, oci.ErrUnavailable) {
				t.Fatalf("error %v", err)
			}
			listener, err := net.Listen("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			first := make(chan []byte, 100)
			go func() { // Until the listener is closed.
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					bytes := make([]byte, 1)
					_, _ = io.ReadFull(conn, bytes)
					first <- bytes
					_ = conn.Close() // as a proxy does whose server is down
				}
			}()
			if err := fetch(t, c, r); !errors.Is(err, oci.ErrUnavailable) {
				t.Errorf("error %v", err)
			}
			if n := len(first); n == 0 {
				t.Error("no request arrived")
			}
			for range len(first) {
				if b := <-first; b[0] != 0x16 { // a record of TLS
					t.Errorf("it was spoken to without TLS: %q…", b)
				}
			}
		})
	}
}
