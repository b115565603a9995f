package modules_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
)

// wasm is content that begins as a module does.
func wasm(rest string) []byte { return []byte("\x00asm\x01\x00\x00\x00" + rest) }

// finder finds modules with a store of its own.
func finder(t *testing.T) *modules.Finder {
	t.Helper()
	return impatient(t, time.Minute)
}

// impatient is a finder with a limit for how long registries may hang.
func impatient(t *testing.T, stall time.Duration) *modules.Finder {
	t.Helper()
	kept, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	client := oci.New(oci.Options{MaxModule: 1 << 20, Stall: stall, ConfigFile: noCredentials(t)})
	t.Cleanup(client.Close)
	return &modules.Finder{Client: client, Store: kept}
}

// noCredentials replaces the credentials of the user who runs the test.
func noCredentials(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sound checks that all contents of the store match their digests.
func sound(t *testing.T, s *store.Store) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir(), "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if layout.Digest(content) != "sha256:"+filepath.Base(file) {
			t.Errorf("%s holds something else", file)
		}
	}
	if hidden, _ := filepath.Glob(filepath.Join(s.Dir(), "*", "*", ".temp-*")); hidden != nil {
		t.Errorf("temporary files: %v", hidden)
	}
}

// manifest is a manifest of a module, to be changed.
func manifest(r *ocitest.Registry, change func(m *layout.Manifest)) []byte {
	module := r.Put(layout.MediaModule, wasm("module"))
	config, _ := json.Marshal(layout.Config{Architecture: "wasm", OS: "wasip1", LayerDigests: []string{module.Digest}})
	m := layout.Manifest{SchemaVersion: 2, MediaType: layout.MediaManifest, Config: r.Put(layout.MediaConfig, config), Layers: []layout.Descriptor{module}}
	change(&m)
	text, _ := json.Marshal(m)
	return text
}

// The error of a bad artifact names the reference and the reason, and nothing of the artifact
// is used.
func TestBadArtifacts(t *testing.T) {
	tests := []struct {
		name  string
		serve func(r *ocitest.Registry)
		want  error
		words string
	}{
		{"a tampered layer", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { r.PutAs(m.Layers[0].Digest, wasm("mOdule")) }))
		}, oci.ErrTampered, "was tampered with"},
		{"a layer of another size", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers[0].Size += 5 }))
		}, oci.ErrTampered, "mismatch Content-Length"},
		{"a tampered config", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) {
				r.PutAs(m.Config.Digest, bytes.Repeat([]byte("x"), int(m.Config.Size)))
			}))
		}, oci.ErrTampered, "was tampered with"},
		{"a tampered manifest", func(r *ocitest.Registry) {
			digest := r.Tag("v1", layout.MediaManifest, manifest(r, func(*layout.Manifest) {}))
			r.PutAs(digest, manifest(r, func(m *layout.Manifest) { m.Annotations = map[string]string{"more": "rights"} }))
		}, oci.ErrTampered, "the manifest should be sha256:"},
		{"a config that lies about the digest", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) {
				m.Config = r.Put(layout.MediaConfig, []byte(`{"architecture":"wasm","os":"wasip1","layerDigests":["`+layout.Digest(nil)+`"]}`))
			}))
		}, oci.ErrLayout, "its config says that the layer is sha256:"},
		{"a config that tells of two layers", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) {
				m.Config = r.Put(layout.MediaConfig, []byte(`{"layerDigests":["a","b"]}`))
			}))
		}, oci.ErrLayout, "2 layers"},
		{"a config that is not JSON", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Config = r.Put(layout.MediaConfig, []byte("{")) }))
		}, oci.ErrLayout, "its config cannot be read"},
		{"a config of 4 GB", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Config.Size = 4 << 30 }))
		}, oci.ErrLayout, "its config is announced with 4294967296 bytes"},
		{"an index", func(r *ocitest.Registry) {
			r.Tag("v1", "application/vnd.oci.image.index.v1+json", []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`))
		}, oci.ErrLayout, "an index of several manifests"},
		{"an index that says it is a manifest", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`))
		}, oci.ErrLayout, "its manifest says it is application/vnd.oci.image.index.v1+json"},
		{"an image of Docker", func(r *ocitest.Registry) {
			r.Tag("v1", "application/vnd.docker.distribution.manifest.v2+json", []byte(`{"schemaVersion":2}`))
		}, oci.ErrLayout, "application/vnd.docker.distribution.manifest.v2+json"},
		{"a manifest that is not JSON", func(r *ocitest.Registry) { r.Tag("v1", layout.MediaManifest, []byte("{")) }, oci.ErrLayout, "not JSON"},
		{"a manifest of 5 MB", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, bytes.Repeat([]byte(" "), 5<<20))
		}, oci.ErrLayout, "its manifest is larger than"},
		{"two layers", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }))
		}, oci.ErrLayout, "it has 2 layers, not one"},
		{"no layer", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers = nil }))
		}, oci.ErrLayout, "it has 0 layers"},
		{"a layer of 4 GB", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers[0].Size = 4 << 30 }))
		}, oci.ErrLayout, "its layer is announced with 4294967296 bytes, and the limit is 1048576"},
		{"a layer of less than nothing", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers[0].Size = -1 }))
		}, oci.ErrLayout, "announced with -1 bytes"},
		{"a layer of another type", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers[0].MediaType = "application/vnd.oci.image.layer.v1.tar+gzip" }))
		}, oci.ErrLayout, "application/vnd.oci.image.layer.v1.tar+gzip"},
		{"a layer with another kind of digest", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers[0].Digest = "md5:../../../../etc/passwd" }))
		}, oci.ErrLayout, "not of sha256"},
		{"a layer that is not WebAssembly", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { replaceLayer(r, m, []byte("#!/bin/sh\necho")) }))
		}, oci.ErrLayout, "its layer is not WebAssembly"},
		{"10,000 layers", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers = slices.Repeat(m.Layers, 10_000) }))
		}, oci.ErrLayout, "it has 10000 layers, not one"},
		{"a type of 1 MB", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Layers[0].MediaType = strings.Repeat("type", 1<<18) }))
		}, oci.ErrLayout, "typetypetype"},
		{"a number of 1 MB", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, []byte(`{"schemaVersion":`+strings.Repeat("9", 1<<20)+`}`))
		}, oci.ErrLayout, "cannot unmarshal number 999"},
		{"a digest that leads elsewhere", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Config.Digest = "sha256:../../../../../../etc/passwd" }))
		}, oci.ErrLayout, "not of sha256"},
		{"a config that tells 1 MB", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) {
				m.Config = r.Put(layout.MediaConfig, []byte(`{"layerDigests":["\u001b[31m`+strings.Repeat("x", 900_000)+`"]}`))
			}))
		}, oci.ErrLayout, "its config says that the layer is"},
		{"annotations of 10 MB", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { m.Annotations = map[string]string{"a": strings.Repeat("x", 10<<20)} }))
		}, oci.ErrLayout, "its manifest is larger than"},
		{"a component", func(r *ocitest.Registry) {
			r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) { replaceLayer(r, m, []byte("\x00asm\x0d\x00\x01\x00")) }))
		}, oci.ErrLayout, "a WebAssembly component"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, r := finder(t), ocitest.New(t)
			tt.serve(r)
			refused(t, f, r.Ref("v1"), tt.want, tt.words)
		})
	}
}

// replaceLayer serves another layer, with a config that fits.
func replaceLayer(r *ocitest.Registry, m *layout.Manifest, content []byte) {
	m.Layers[0] = r.Put(layout.MediaModule, content)
	m.Config = r.Put(layout.MediaConfig, []byte(`{"architecture":"wasm","os":"wasip1","layerDigests":["`+m.Layers[0].Digest+`"]}`))
}

// refused checks that nothing can be had, and why.
func refused(t *testing.T, f *modules.Finder, ref oci.Reference, want error, words string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found, err := f.Fetch(ctx, ref)
	if err == nil || found != nil {
		t.Fatalf("found %v, error %v", found, err)
	}
	text := err.Error()
	if len(text) > 1100 || strings.ContainsRune(text, '\x1b') {
		t.Errorf("the error has %d bytes: %.200q", len(text), text)
	}
	if !errors.Is(err, want) || !strings.Contains(text, words) || !strings.Contains(text, ref.Name()) || strings.Contains(text, "\n") {
		t.Errorf("the error is %q, want one line of %v with the reference and %q", text, want, words)
	}
	if entries, err := f.Store.List(); err != nil || len(entries) > 0 {
		t.Errorf("in the store: %v, %v", entries, err)
	}
	sound(t, f.Store)
}

// Registries that refuse, fail, hang or break off.
func TestBadRegistries(t *testing.T) {
	layer := func(then http.HandlerFunc) http.HandlerFunc {
		digest := layout.Digest(wasm("module"))
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, digest) {
				then(w, r)
			}
		}
	}
	manifests := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				then(w, r)
			}
		}
	}
	tests := []struct {
		name  string
		how   http.HandlerFunc
		want  error
		words string
	}{
		{"401", ocitest.Refuse(401), oci.ErrDenied, "wants (other) credentials (401"},
		{"403", ocitest.Refuse(403), oci.ErrDenied, "the credentials do not allow it (403"},
		{"404", ocitest.Refuse(404), oci.ErrNotFound, "the registry does not have it"},
		{"418", ocitest.Refuse(418), oci.ErrUnavailable, "418"},
		{"429", ocitest.Refuse(429), oci.ErrUnavailable, "too many requests, try later (429"},
		{"500", ocitest.Refuse(500), oci.ErrUnavailable, "it answers 500 Internal Server Error"},
		{"501", ocitest.Refuse(501), oci.ErrUnavailable, "501 Not Implemented"},
		{"the layer is gone", layer(ocitest.Refuse(404)), oci.ErrMissing, "the registry has the manifest, but not its content sha256:"},
		{"hanging before the answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, oci.ErrUnavailable, "timeout"},
		{"hanging in the middle of a layer", layer(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "14")
			_, _ = w.Write(wasm(""))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}), oci.ErrUnavailable, "has stopped sending data"},
		{"breaking off each time", layer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "14")
			_, _ = w.Write(wasm(""))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}), oci.ErrUnavailable, "broke off after 8 of 14 bytes"},
		{"a layer without an end", layer(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}), oci.ErrTampered, "instead of the announced 14"},
		{"a layer with another length", layer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9000000000")
			_, _ = w.Write(wasm("module"))
		}), oci.ErrTampered, "mismatch Content-Length"},
		{"a layer of other bytes", layer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wasm("MODULE")) }), oci.ErrTampered, "was tampered with"},
		{"a manifest of 100 MB", manifests(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", layout.MediaManifest)
			w.Header().Set("Content-Length", "104857600")
			w.Header().Set("Docker-Content-Digest", layout.Digest(nil))
			for i := 0; i < 1600 && r.Context().Err() == nil; i++ {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
					return
				}
			}
		}), oci.ErrLayout, "its manifest is larger than 4194304 bytes"},
		{"a manifest of no type", manifests(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset")
			fmt.Fprint(w, "<html>")
		}), oci.ErrUnavailable, "invalid media parameter"},
		{"a digest that lies", manifests(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", layout.MediaManifest)
			w.Header().Set("Docker-Content-Digest", layout.Digest([]byte("something else")))
			fmt.Fprint(w, "{}")
		}), oci.ErrTampered, "the manifest should be sha256:"},
		{"a malformed digest", manifests(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", layout.MediaManifest)
			w.Header().Set("Docker-Content-Digest", "sha256:../../etc/passwd")
			fmt.Fprint(w, "{}")
		}), oci.ErrUnavailable, "digest"},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\n"))
				_ = conn.Close()
			}
			panic(http.ErrAbortHandler)
		}, oci.ErrUnavailable, ""},
		{"a token service without TLS", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://auth.example.com/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, oci.ErrUnavailable, "auth.example.com must not be reached without TLS"},
		{"a token service that asks for a token", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}, oci.ErrDenied, "401"},
		{"redirecting in a circle", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, oci.ErrUnavailable, "redirects"},
		{"redirecting to plain HTTP elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://registry.example.com/", http.StatusFound)
		}, oci.ErrUnavailable, "registry.example.com must not be reached without TLS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, r := finder(t), ocitest.New(t)
			if strings.HasPrefix(tt.name, "hanging") {
				f = impatient(t, 500*time.Millisecond)
			}
			r.Pack(t, "v1", wasm("module"))
			r.Override(tt.how)
			refused(t, f, r.Ref("v1"), tt.want, tt.words)
		})
	}
}

// Attachments of an artifact cannot fill the disk when it is saved.
func TestSaveBoundsAttachments(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	digest := r.Pack(t, "v1", wasm("module"))
	small := r.Put("application/json", []byte("{}"))
	large := small
	large.Size = 65 << 20
	for _, tt := range []struct {
		layers []layout.Descriptor
		words  string
	}{
		{slices.Repeat([]layout.Descriptor{small}, 101), "has 101 layers; at most 100"},
		{[]layout.Descriptor{small, large}, "of 68157440 bytes is announced, and the limit is"},
	} {
		text, err := json.Marshal(layout.Manifest{SchemaVersion: 2, MediaType: layout.MediaManifest, Config: small, Layers: tt.layers})
		if err != nil {
			t.Fatal(err)
		}
		r.Tag(oci.SignatureTag(digest), layout.MediaManifest, text)
		err = f.Save(t.Context(), &bytes.Buffer{}, []oci.Reference{r.Ref("v1")})
		if !errors.Is(err, oci.ErrLayout) || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("error %v, want %q", err, tt.words)
		}
	}
}
