package modules_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
)

// fetched gets a module that must be the one.
func fetched(t *testing.T, f *modules.Finder, name string, want []byte) *modules.Found {
	t.Helper()
	found, err := f.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(found.Module, want) {
		t.Fatalf("found another module: %q", found.Module)
	}
	return found
}

func TestWhenRegistriesAreAsked(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	first, second := wasm("first"), wasm("second")
	digest := r.Pack(t, "v1", first)
	tag := r.Ref("v1").String()
	byDigest := r.Ref("v1").At(digest).String()

	f.Pull = modules.Never
	if _, err := f.Open(t.Context(), tag); !errors.Is(err, store.ErrAbsent) || !strings.Contains(err.Error(), tag) {
		t.Errorf("error %v", err)
	}
	if len(r.Requests()) > 0 {
		t.Error("the registry was asked")
	}

	f.Pull = modules.Missing
	found := fetched(t, f, tag, first)
	if found.Name != tag+"@"+digest || found.Manifest.Reference.Digest != digest {
		t.Errorf("found %s", found.Name)
	}
	asked := len(r.Requests())
	r.Pack(t, "v1", second)
	fetched(t, f, tag, first)
	fetched(t, f, byDigest, first)
	f.Pull = modules.Always
	fetched(t, f, byDigest, first)
	f.Pull = modules.Never
	fetched(t, f, tag, first)
	if n := len(r.Requests()); n > asked {
		t.Errorf("the registry was asked %d times", n-asked)
	}

	f.Pull = "" // always
	fetched(t, f, tag, second)
	asked = len(r.Requests())
	fetched(t, f, tag, second)
	if n := len(r.Requests()) - asked; n != 1 {
		t.Errorf("%d requests for what is in the store, want one for the tag", n)
	}
}

// TestWhatTheStoreHasIsNotWritten: a store can be on a file system that is read-only, as in an image, and was refused there.
func TestWhatTheStoreHasIsNotWritten(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	module := wasm("module")
	digest := r.Pack(t, "v1", module)
	fetched(t, f, r.Ref("v1").String(), module)
	before := time.Now().Add(-time.Hour)
	parts, err := filepath.Glob(filepath.Join(f.Store.Dir(), "*", "*", "*"))
	if err != nil || len(parts) == 0 {
		t.Fatal(err)
	}
	for _, part := range parts {
		if err := os.Chtimes(part, before, before); err != nil {
			t.Fatal(err)
		}
	}
	for pull, names := range map[modules.When][]string{
		modules.Always: {r.Ref("v1").String()}, modules.Missing: {r.Ref("v1").String()}, modules.Never: {r.Ref("v1").String(), r.Ref("v1").At(digest).String()},
	} {
		f.Pull = pull
		for _, name := range names {
			fetched(t, f, name, module)
		}
	}
	for _, part := range parts {
		if info, err := os.Stat(part); err != nil || time.Since(info.ModTime()) < time.Minute {
			t.Errorf("%s was written again: %v", part, err)
		}
	}
}

func TestOpenFile(t *testing.T) {
	f := finder(t)
	path := filepath.Join(t.TempDir(), "operator.wasm")
	if _, err := f.Open(t.Context(), path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(path, wasm("file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := fetched(t, f, path, wasm("file")); found.Name != "operator.wasm" || found.Manifest != nil {
		t.Errorf("found %+v", found)
	}
}

// Without a store nothing is kept, and everything works.
func TestNoStore(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	f.Store = nil
	r.Pack(t, "v1", wasm("module"))
	fetched(t, f, r.Ref("v1").String(), wasm("module"))
	f.Pull = modules.Never
	if _, err := f.Open(t.Context(), r.Ref("v1").String()); !errors.Is(err, store.ErrAbsent) {
		t.Errorf("error %v", err)
	}
}

// Whatever breaks in the store is noticed, and fetched again.
func TestCorruptedStore(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	var warned []string
	f.Warn = func(text string) { warned = append(warned, text) }
	r.Pack(t, "v1", wasm("module"))
	ref := r.Ref("v1").String()
	name := fetched(t, f, ref, wasm("module")).Name
	blobs, err := filepath.Glob(filepath.Join(f.Store.Dir(), "blobs", "sha256", "*"))
	if err != nil || len(blobs) != 3 {
		t.Fatalf("%v, %v", blobs, err)
	}
	for _, change := range []func(path string) error{
		func(path string) error { return os.Truncate(path, 5) },
		func(path string) error { return os.Truncate(path, 0) },
		func(path string) error { return os.WriteFile(path, []byte("something else"), 0o600) },
		os.Remove,
	} {
		for _, blob := range blobs {
			if err := change(blob); err != nil {
				t.Fatal(err)
			}
			fetched(t, f, name, wasm("module"))
			sound(t, f.Store)
		}
	}
	if len(warned) != 9 || !strings.Contains(warned[0], "; it is fetched again") {
		t.Errorf("warned: %q", warned)
	}
	entries, err := filepath.Glob(filepath.Join(f.Store.Dir(), "refs", "*"))
	if err != nil || len(entries) != 2 { // the tag, and the tag with the digest
		t.Fatalf("%v, %v", entries, err)
	}
	for _, entry := range entries {
		if err := os.WriteFile(entry, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.Pull = modules.Missing
	fetched(t, f, ref, wasm("module"))
}

// A transfer that breaks off continues where it ended, or begins again where the
// registry cannot do that.
func TestBrokenTransfers(t *testing.T) {
	module := wasm(strings.Repeat("module", 50_000))
	for name, ranges := range map[string]bool{"resumed": true, "begun again": false} {
		t.Run(name, func(t *testing.T) {
			f, r := finder(t), ocitest.New(t)
			r.Pack(t, "v1", module)
			var once sync.Once
			r.Override(func(w http.ResponseWriter, req *http.Request) {
				if !strings.HasSuffix(req.URL.Path, layout.Digest(module)) {
					return
				}
				cut := false
				once.Do(func() { cut = true })
				if cut {
					if ranges {
						w.Header().Set("Accept-Ranges", "bytes")
					}
					_, _ = w.Write(module[:100_000])
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				}
				if !ranges {
					_, _ = w.Write(module)
				}
			})
			fetched(t, f, r.Ref("v1").String(), module)
			resumed := false
			for _, req := range r.Requests() {
				resumed = resumed || strings.HasPrefix(req.Header.Get("Range"), "bytes=100000-")
			}
			if resumed != ranges {
				t.Errorf("resumed: %v", resumed)
			}
		})
	}
}

// Two pulls of the same module at once both succeed, also while it is removed.
func TestConcurrentPulls(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	module := wasm(strings.Repeat("module", 10_000))
	digest := r.Pack(t, "v1", module)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				found, err := f.Open(t.Context(), r.Ref("v1").String())
				if err != nil || !bytes.Equal(found.Module, module) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
	group.Go(func() {
		for range 10 {
			if _, err := f.Store.Remove(digest); err != nil && !errors.Is(err, store.ErrAbsent) {
				t.Error(err)
			}
		}
	})
	group.Wait()
	fetched(t, f, r.Ref("v1").String(), module)
	sound(t, f.Store)
}

// Artifacts of other tools run, too: with an empty config, or with older types.
func TestOtherLayouts(t *testing.T) {
	for _, mediaType := range []string{"application/wasm", "application/vnd.wasm.content.layer.v1+wasm", "application/vnd.module.wasm.content.layer.v1+wasm"} {
		f, r := finder(t), ocitest.New(t)
		r.Tag("v1", layout.MediaManifest, manifest(r, func(m *layout.Manifest) {
			m.Layers[0].MediaType = mediaType
			m.Config = r.Put("application/vnd.oci.empty.v1+json", []byte("{}"))
		}))
		fetched(t, f, r.Ref("v1").String(), wasm("module"))
	}
}
