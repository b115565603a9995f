package modules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/artifacts/oci/store"
	"github.com/kopf-wasm/kopf/internal/private"
)

// blobFile is where the store keeps content.
func blobFile(f *modules.Finder, digest string) string {
	return filepath.Join(f.Store.Dir(), "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

// classes are the errors of which exactly one says what is wrong with an artifact.
var classes = []error{store.ErrAbsent, store.ErrCorrupted, private.ErrShared, oci.ErrNotFound, oci.ErrMissing, oci.ErrUnavailable, oci.ErrTampered, oci.ErrLayout, oci.ErrDenied}

// inClass checks that an error is of one class and no other, and says all the words.
func inClass(t *testing.T, err, class error, words ...string) {
	t.Helper()
	for _, c := range classes {
		if errors.Is(err, c) != (c == class) { //nolint:errorlint // the class itself
			t.Errorf("%v: is it %q: %v", err, c, errors.Is(err, c))
		}
	}
	for _, w := range words {
		if !strings.Contains(fmt.Sprint(err), w) {
			t.Errorf("%v: it does not say %q", err, w)
		}
	}
}

// Without a registry, the error describes the store at each call: what is absent
// and what is corrupted, with both digests, and how to get it.
func TestBrokenStoreWithoutRegistry(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	module := wasm("module")
	r.Pack(t, "v1", module)
	ref := r.Ref("v1").String()
	fetched(t, f, ref, module)
	f.Pull = modules.Never
	file := blobFile(f, layout.Digest(module))
	for range 2 {
		if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := f.Open(t.Context(), ref)
			inClass(t, err, store.ErrCorrupted, ref, layout.Digest(module), "its content has the digest "+layout.Digest([]byte("something else")), "run kopf pull "+ref, "kopf load")
		}
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := f.Open(t.Context(), ref)
	inClass(t, err, private.ErrShared, ref, file, "-rw-rw-rw-", "run kopf pull "+ref)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, err = f.Open(t.Context(), ref)
	inClass(t, err, store.ErrAbsent, ref, layout.Digest(module), "run kopf pull "+ref)

	entries, err := filepath.Glob(filepath.Join(f.Store.Dir(), "refs", "*"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if err := os.WriteFile(entries[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = f.Open(t.Context(), ref)
	inClass(t, err, store.ErrCorrupted, ref, "its entry cannot be read", "run kopf pull "+ref)
	_, err = f.Open(t.Context(), r.Ref("v2").String())
	inClass(t, err, store.ErrAbsent, r.Ref("v2").String())
}

// Files of the store that other users can write to are fetched again.
func TestSharedFilesOfTheStore(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	var warned []string
	f.Warn = func(text string) { warned = append(warned, text) }
	r.Pack(t, "v1", wasm("module"))
	ref := r.Ref("v1").String()
	fetched(t, f, ref, wasm("module"))
	for _, pattern := range []string{"refs/*", "blobs/sha256/*"} {
		files, err := filepath.Glob(filepath.Join(f.Store.Dir(), pattern))
		if err != nil || files == nil {
			t.Fatalf("%v, %v", files, err)
		}
		for _, file := range files {
			if err := os.Chmod(file, 0o606); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.Pull = modules.Missing
	fetched(t, f, ref, wasm("module"))
	if len(warned) != 3 || !strings.Contains(warned[0], "other users can write to it") {
		t.Errorf("warned %q", warned)
	}
	warned = nil
	if fetched(t, f, ref, wasm("module")); warned != nil {
		t.Errorf("warned %q", warned)
	}
	if err := os.Chmod(filepath.Join(f.Store.Dir(), "refs"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(f.Store.Dir())
	inClass(t, err, private.ErrShared, "refs", "drwxrwxrwx")
}

// A size in the manifest that is not that of the content is refused, wherever the content is.
func TestWrongSizeInTheManifest(t *testing.T) {
	module := wasm("module")
	for name, change := range map[string]func(m *layout.Manifest){
		"of the module": func(m *layout.Manifest) { m.Layers[0].Size++ },
		"of the config": func(m *layout.Manifest) { m.Config.Size-- },
	} {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in the store: %v", name, stored), func(t *testing.T) {
				f, r := finder(t), ocitest.New(t)
				packed, err := layout.Pack(module, "operator.wasm", nil)
				if err != nil {
					t.Fatal(err)
				}
				m := &layout.Manifest{}
				if err := json.Unmarshal(packed.Manifest, m); err != nil {
					t.Fatal(err)
				}
				change(m)
				raw, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				r.Put(layout.MediaConfig, packed.Config)
				r.Put(layout.MediaModule, module)
				r.Tag("v1", layout.MediaManifest, raw)
				if stored {
					for _, content := range [][]byte{packed.Config, module} {
						if _, err := f.Store.Put(content); err != nil {
							t.Fatal(err)
						}
					}
				}
				_, err = f.Open(t.Context(), r.Ref("v1").String())
				inClass(t, err, oci.ErrTampered, r.Ref("v1").String())
			})
		}
	}
}

// TestClassesOfRegistries checks that a missing artifact and a registry that does not answer are different errors.
func TestClassesOfRegistries(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	_, err := f.Open(t.Context(), r.Ref("v1").String())
	inClass(t, err, oci.ErrNotFound, r.Ref("v1").String())
	packed, err := layout.Pack(wasm("module"), "operator.wasm", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Put(layout.MediaConfig, packed.Config)
	r.Tag("v1", layout.MediaManifest, packed.Manifest)
	_, err = f.Open(t.Context(), r.Ref("v1").String())
	inClass(t, err, oci.ErrMissing, r.Ref("v1").String(), layout.Digest(packed.Module))
	gone := r.Ref("v1")
	r.CloseClientConnections()
	r.Close()
	_, err = f.Open(t.Context(), gone.String())
	inClass(t, err, oci.ErrUnavailable, gone.String())
}

// signed serves a signature as cosign keeps it for a digest: a manifest with a config and a layer.
func signed(t *testing.T, r *ocitest.Registry, digest, text string) {
	t.Helper()
	m := layout.Manifest{SchemaVersion: 2, MediaType: layout.MediaManifest}
	m.Config = r.Put("application/vnd.oci.image.config.v1+json", []byte(`{"config":"`+text+`"}`))
	m.Layers = []layout.Descriptor{r.Put("application/vnd.dev.cosign.simplesigning.v1+json", []byte(text))}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	r.Tag(oci.SignatureTag(digest), layout.MediaManifest, raw)
}

// Equal content of two registries: what was verified under one reference, and so kept in
// part, does not keep the other one from being saved with its own signatures.
func TestSaveAfterAnotherReferenceWasVerified(t *testing.T) {
	f, a, b := finder(t), ocitest.New(t), ocitest.New(t)
	digest := a.Pack(t, "v1", wasm("module"))
	b.Pack(t, "v1", wasm("module"))
	signed(t, a, digest, "by a")
	signed(t, b, digest, "by b")
	fetched(t, f, a.Ref("v1").String(), wasm("module"))
	from := f.Attachments()[0]
	at := a.Ref("").Tagged(oci.SignatureTag(digest))
	m, _, err := from.Attached(t.Context(), at) // as verifying does: the config is not read
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.Blob(t.Context(), at, m.Layers[0], 1000); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := f.Save(t.Context(), &archive, []oci.Reference{b.Ref("v1")}); err != nil {
		t.Fatal(err)
	}
	if text := archive.String(); !strings.Contains(text, "by b") || strings.Contains(text, "by a") {
		t.Error("the archive has not the signatures of its own reference, and no others")
	}
	other := finder(t)
	other.Pull = modules.Never
	if _, err := other.LoadArchive(&archive); err != nil {
		t.Fatal(err)
	}
	fetched(t, other, b.Ref("v1").String(), wasm("module"))
	if _, _, err := other.Attachments()[0].Attached(t.Context(), b.Ref("").Tagged(oci.SignatureTag(digest))); err != nil {
		t.Errorf("the signatures of b: %v", err)
	}
	_, _, err = other.Attachments()[0].Attached(t.Context(), at)
	inClass(t, err, oci.ErrNotFound)
}

// An artifact that was only run is saved with its signatures, also when the store has its module.
func TestSaveFetchesMissingSignatures(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	signed(t, r, r.Pack(t, "v1", wasm("module")), "signature")
	f.Pull = modules.Missing
	fetched(t, f, r.Ref("v1").String(), wasm("module"))
	var archive bytes.Buffer
	if err := f.Save(t.Context(), &archive, []oci.Reference{r.Ref("v1")}); err != nil || !strings.Contains(archive.String(), "signature") {
		t.Errorf("the archive has no signature, or error %v", err)
	}
}

// What was completed is verified and saved without the registry. A signature that is corrupted
// then is not taken for an absent one.
func TestCompleteBringsSignatures(t *testing.T) {
	f, r := finder(t), ocitest.New(t)
	digest := r.Pack(t, "v1", wasm("module"))
	signed(t, r, digest, "signature")
	found := fetched(t, f, r.Ref("v1").String(), wasm("module"))
	if err := f.Complete(t.Context(), found.Manifest.Reference); err != nil {
		t.Fatal(err)
	}
	asked := len(r.Requests())
	f.Pull = modules.Never
	var archive bytes.Buffer
	if err := f.Save(t.Context(), &archive, []oci.Reference{r.Ref("v1")}); err != nil || !strings.Contains(archive.String(), "signature") {
		t.Errorf("error %v", err)
	}
	if got, err := f.Resolve(t.Context(), r.Ref("v1")); err != nil || got != digest {
		t.Errorf("%s, %v", got, err)
	}
	if n := len(r.Requests()); n > asked {
		t.Errorf("the registry was asked %d times", n-asked)
	}
	at := r.Ref("").Tagged(oci.SignatureTag(digest))
	from := f.Attachments()[0]
	m, raw, err := from.Attached(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blobFile(f, m.Layers[0].Digest), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = from.Blob(t.Context(), at, m.Layers[0], 1000)
	inClass(t, err, store.ErrCorrupted, m.Layers[0].Digest)
	if err := os.Remove(blobFile(f, layout.Digest(raw))); err != nil {
		t.Fatal(err)
	}
	_, _, err = from.Attached(t.Context(), at)
	if !errors.Is(err, oci.ErrMissing) || errors.Is(err, oci.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}
