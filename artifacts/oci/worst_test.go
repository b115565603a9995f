package oci_test

import (
	"compress/gzip"
	"errors"
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
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

const mediaIndex = "application/vnd.oci.image.index.v1+json"

// answer is a response of a hostile registry, which exceeds the limit.
type answer struct {
	name, head, part, tail string
}

// worstAnswers are the most expensive responses for the decoders of the library. Uncounted, 4 MiB of the first one
// allocated 1.4 GiB.
var worstAnswers = []answer{
	{"descriptors", `{"manifests":[{}`, `,{}`, `]}`},
	{"null descriptors", `{"manifests":[null`, `,null`, `]}`},
	{"descriptors with subjects", `{"manifests":[{"platform":{}}`, `,{"platform":{}}`, `]}`},
	{"annotations", `{"annotations":{"":""`, `,"":""`, `}}`},
	{"annotations of a descriptor", `{"manifests":[{"annotations":{"":""`, `,"":""`, `}}]}`},
	{"addresses of a descriptor", `{"manifests":[{"urls":[""`, `,""`, `]}]}`},
	{"nesting", `{"x":`, `[`, ``},
	{"nested objects", `{"manifests":`, `{"":`, ``},
	{"unknown members", `{"":[]`, `,"":[]`, `}`},
}

// write sends a response of this many bytes, in pieces.
func (a answer) write(w http.ResponseWriter, size int) {
	piece := strings.Repeat(a.part, 64<<10/len(a.part))
	w.Header().Set("Content-Type", mediaIndex)
	w.Header().Set("Content-Length", fmt.Sprint(len(a.head)+(size+len(piece)-1)/len(piece)*len(piece)+len(a.tail)))
	_, err := fmt.Fprint(w, a.head)
	for sent := 0; sent < size && err == nil; sent += len(piece) {
		_, err = fmt.Fprint(w, piece)
	}
	if err == nil {
		_, _ = fmt.Fprint(w, a.tail) // the client may have closed the connection
	}
}

// maxAnswer is larger than the part of a response that is read.
const maxAnswer = layout.MaxManifest + 1<<20

// TestWorstReferrers: lists of referrers, under their own path and under a tag, are refused before a decoder makes anything of them.
func TestWorstReferrers(t *testing.T) {
	for _, a := range worstAnswers {
		for where, path := range map[string]string{"by the API": "/referrers/", "under a tag": "/manifests/"} {
			t.Run(a.name+" "+where, func(t *testing.T) {
				var asked atomic.Bool
				hostile := ocitest.New(t)
				hostile.Override(func(w http.ResponseWriter, req *http.Request) {
					switch {
					case strings.Contains(req.URL.Path, path):
						asked.Store(true)
						a.write(w, layout.MaxManifest-1<<17)
					case strings.Contains(req.URL.Path, "/referrers/"):
						http.NotFound(w, req)
					}
				})
				c := oci.New(oci.Options{ConfigFile: noFile(t)})
				defer c.Close()
				boundedtest.Parse(t, a.name, make([]byte, maxAnswer), func([]byte) error {
					found, err := c.Referrers(t.Context(), hostile.Ref("").At(layout.Digest(nil)))
					if !errors.Is(err, oci.ErrLayout) || !strings.Contains(err.Error(), "too much: more than ") || !asked.Load() {
						t.Errorf("%d, error %v", len(found), err)
					}
					return err
				})
			})
		}
	}
}

// TestWorstPages: a list in as many pages as are asked for, each within the bounds of one, is given up for the number of its entries.
func TestWorstPages(t *testing.T) {
	hostile := ocitest.New(t)
	hostile.Override(func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.URL.Path, "/referrers/") {
			w.Header().Set("Content-Type", mediaIndex)
			w.Header().Set("Link", "<"+req.URL.Path+`?more>; rel="next"`)
			fmt.Fprint(w, `{"manifests":[`+strings.TrimSuffix(strings.Repeat(`{},`, 20), ",")+`],"":[0`+strings.Repeat(",0", 90_000)+`]}`)
		}
	})
	boundedtest.Parse(t, "pages", nil, func([]byte) error {
		_, err := client(t, hostile, nil).Referrers(t.Context(), hostile.Ref("").At(layout.Digest(nil)))
		if !errors.Is(err, oci.ErrUnavailable) || !strings.Contains(err.Error(), "exceeded 10 pages") {
			t.Errorf("error %v", err)
		}
		return err
	})
}

// TestWorstAnswers: the same answers, where they are read in other ways: by a redirect, compressed a thousandfold, instead of
// a manifest, instead of an error, and of a token.
func TestWorstAnswers(t *testing.T) {
	const elsewhere = "/elsewhere/blobs/x"
	for name, serve := range map[string]func(a answer, w http.ResponseWriter, req *http.Request){
		"a redirected list": func(a answer, w http.ResponseWriter, req *http.Request) {
			switch {
			case strings.Contains(req.URL.Path, "/referrers/"):
				http.Redirect(w, req, elsewhere, http.StatusTemporaryRedirect)
			case req.URL.Path == elsewhere:
				a.write(w, maxAnswer)
			}
		},
		"a compressed list": func(a answer, w http.ResponseWriter, req *http.Request) {
			if strings.Contains(req.URL.Path, "/referrers/") {
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("Content-Type", mediaIndex)
				packed := gzip.NewWriter(w)
				a.write(compressed{httptest.NewRecorder(), packed}, 256<<20)
				_ = packed.Close() // the client has closed the connection
			}
		},
		"an error": func(a answer, w http.ResponseWriter, req *http.Request) {
			if strings.Contains(req.URL.Path, "/referrers/") || strings.Contains(req.URL.Path, "/manifests/") {
				a.write(refused{w}, maxAnswer)
			}
		},
		"a token": func(a answer, w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/token" {
				a.write(w, maxAnswer)
				return
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+req.Host+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"a header": func(_ answer, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", strings.Repeat(`Bearer realm="x",`, 1<<16))
			w.WriteHeader(http.StatusUnauthorized)
		},
		"many headers": func(_ answer, w http.ResponseWriter, _ *http.Request) {
			for i := range 20_000 {
				w.Header().Add("Link", fmt.Sprint(i))
			}
			w.WriteHeader(http.StatusOK)
		},
	} {
		for _, a := range worstAnswers {
			t.Run(name+" of "+a.name, func(t *testing.T) {
				hostile := ocitest.New(t)
				hostile.Override(func(w http.ResponseWriter, req *http.Request) { serve(a, w, req) })
				c := oci.New(oci.Options{ConfigFile: noFile(t)})
				defer c.Close()
				boundedtest.Parse(t, name, make([]byte, maxAnswer), func([]byte) error {
					_, err := c.Referrers(t.Context(), hostile.Ref("").At(layout.Digest(nil)))
					if err == nil || len(err.Error()) > 2000 {
						t.Errorf("error %.3000v", err)
					}
					_, err = c.Manifest(t.Context(), hostile.Ref("v1"))
					if err == nil || len(err.Error()) > 2000 {
						t.Errorf("error of the manifest: %.3000v", err)
					}
					return err
				})
			})
		}
	}
}

// refused is a response that is an error.
type refused struct{ http.ResponseWriter }

func (r refused) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusForbidden) // each but the first one does nothing
	return r.ResponseWriter.Write(p)
}

// compressed writes the body of a response through a compressor.
type compressed struct {
	http.ResponseWriter
	to *gzip.Writer
}

func (c compressed) Write(p []byte) (int, error) { return c.to.Write(p) }

// noFile is a file of credentials without any.
func noFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
