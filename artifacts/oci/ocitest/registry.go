// Package ocitest serves artifacts like a broken or hostile registry.
package ocitest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// Registry serves one repository from memory. Its zero value serves nothing.
type Registry struct {
	*httptest.Server

	mu       sync.Mutex
	blobs    map[string][]byte // by digest
	tags     map[string]string // to digests of manifests
	types    map[string]string // of manifests
	override http.HandlerFunc
	requests []*http.Request
}

// Repository is the name of the served repository.
const Repository = "some/operator"

// New starts a registry, which stops with the test.
func New(t *testing.T) *Registry {
	t.Helper()
	r := &Registry{blobs: map[string][]byte{}, tags: map[string]string{}, types: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(func() {
		r.CloseClientConnections() // ends requests that hang
		r.Close()
	})
	return r
}

// Ref returns the reference of a tag.
func (r *Registry) Ref(tag string) oci.Reference {
	return oci.Reference{Registry: strings.TrimPrefix(r.URL, "http://"), Repository: Repository, Tag: tag}
}

// Put serves content, and returns its descriptor.
func (r *Registry) Put(mediaType string, content []byte) layout.Descriptor {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := layout.Describe(mediaType, content)
	r.blobs[d.Digest] = content
	return d
}

// PutAs serves content under a digest that may be wrong.
func (r *Registry) PutAs(digest string, content []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[digest] = content
}

// Tag serves a manifest under a tag, and returns its digest.
func (r *Registry) Tag(tag, mediaType string, manifest []byte) string {
	d := r.Put(mediaType, manifest)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tags[tag], r.types[d.Digest] = d.Digest, mediaType
	return d.Digest
}

// Pack serves a valid module under a tag, and returns the manifest's digest.
func (r *Registry) Pack(t *testing.T, tag string, module []byte) string {
	t.Helper()
	packed, err := layout.Pack(module, "operator.wasm", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Put(layout.MediaConfig, packed.Config)
	r.Put(layout.MediaModule, packed.Module)
	return r.Tag(tag, layout.MediaManifest, packed.Manifest)
}

// Override intercepts requests. The registry answers the requests for which the function
// writes nothing.
func (r *Registry) Override(f http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.override = f
}

// Requests returns the received requests, without probes.
func (r *Registry) Requests() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*http.Request{}, r.requests...)
}

// written records whether a response was written.
type written struct {
	http.ResponseWriter
	any bool
}

func (w *written) WriteHeader(code int) {
	w.any = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *written) Write(p []byte) (int, error) {
	w.any = true
	return w.ResponseWriter.Write(p)
}

func (w *written) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (r *Registry) serve(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	override := r.override
	r.requests = append(r.requests, req)
	r.mu.Unlock()
	if override != nil {
		seen := &written{ResponseWriter: w}
		if override(seen, req); seen.any {
			return
		}
	}
	what, name, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"+Repository+"/"), "/")
	r.mu.Lock()
	if tagged, ok := r.tags[name]; ok && what == "manifests" {
		name = tagged
	}
	content, ok := r.blobs[name]
	mediaType := r.types[name]
	r.mu.Unlock()
	if !ok {
		http.Error(w, `{"errors":[{"code":"NAME_UNKNOWN","message":"unknown"}]}`, http.StatusNotFound)
		return
	}
	if what == "manifests" {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", name)
	}
	http.ServeContent(w, req, "", time.Time{}, strings.NewReader(string(content)))
}

// Refuse answers all requests with a status code, and an error in the format of registries.
func Refuse(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"errors":[{"code":"TEST","message":"for code %d\nError: forged"}]}`, code)
	}
}
