package oci_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
)

// basic is the authorization header of the right credentials.
var basic = "Basic " + base64.StdEncoding.EncodeToString([]byte("me:secret"))

// client makes a client with credentials for a registry; what is listed as insecure may be nil.
func client(t *testing.T, r *ocitest.Registry, insecure *sources.Sources) *oci.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	text := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, r.Ref("").Registry, strings.TrimPrefix(basic, "Basic "))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := oci.New(oci.Options{ConfigFile: path, Sources: insecure})
	t.Cleanup(c.Close)
	return c
}

// A registry redirects a layer to another host: it is fetched from there, and
// neither the credentials nor what they were exchanged for go there, even if it asks for them.
func TestRedirectsCarryNoCredentials(t *testing.T) {
	module := []byte("\x00asm\x01\x00\x00\x00 of another host")
	for name, asks := range map[string]bool{"it serves": false, "it asks for credentials": true, "it names a token service": true} {
		t.Run(name, func(t *testing.T) {
			r := ocitest.New(t)
			r.Pack(t, "v1", module)
			var leaked atomic.Value
			leaked.Store("")
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if auth := req.Header.Get("Authorization"); auth != "" {
					leaked.Store(req.URL.Path + " got " + auth)
				}
				switch {
				case !asks:
					_, _ = w.Write(module)
				case name == "it asks for credentials":
					w.Header().Set("WWW-Authenticate", `Basic realm="elsewhere"`)
					w.WriteHeader(http.StatusUnauthorized)
				default:
					w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+req.Host+`/token",service="elsewhere"`)
					w.WriteHeader(http.StatusUnauthorized)
				}
			}))
			t.Cleanup(elsewhere.Close)
			r.Override(func(w http.ResponseWriter, req *http.Request) {
				switch {
				case req.Header.Get("Authorization") != basic:
					w.Header().Set("WWW-Authenticate", `Basic realm="tests"`)
					w.WriteHeader(http.StatusUnauthorized)
				case strings.HasSuffix(req.URL.Path, layout.Digest(module)):
					http.Redirect(w, req, elsewhere.URL+"/blob", http.StatusTemporaryRedirect)
				}
			})
			c := client(t, r, listing(t, strings.TrimPrefix(elsewhere.URL, "http://")))
			m, err := c.Manifest(t.Context(), r.Ref("v1"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Layer(t.Context(), m)
			if asks == (err == nil) || !asks && string(got) != string(module) {
				t.Errorf("%q, error %v", got, err)
			}
			if text := leaked.Load(); text != "" {
				t.Errorf("leaked: %s", text)
			}
		})
	}
}

// A token service gets the credentials that the registry asks it for, and the
// registry gets the token.
func TestTokens(t *testing.T) {
	r := ocitest.New(t)
	r.Pack(t, "v1", []byte("\x00asm\x01\x00\x00\x00"))
	tokens := 0
	r.Override(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Path == "/token":
			tokens++
			if req.Header.Get("Authorization") != basic || req.URL.Query().Get("scope") != "repository:"+ocitest.Repository+":pull" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprint(w, `{"token":"a-token"}`)
		case req.Header.Get("Authorization") != "Bearer a-token":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+req.Host+`/token",service="tests",scope="repository:`+ocitest.Repository+`:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	c := client(t, r, nil)
	m, err := c.Manifest(t.Context(), r.Ref("v1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Layer(t.Context(), m); err != nil {
		t.Error(err)
	}
	if tokens != 1 {
		t.Errorf("%d tokens were asked for", tokens)
	}
}
