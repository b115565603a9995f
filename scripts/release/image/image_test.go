package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	spec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/content/oci"

	"github.com/kopf-wasm/kopf/scripts/release/image"
)

func options() image.Options {
	return image.Options{
		Version: "0.1.0", Revision: "abc", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Programs: map[string][]byte{"amd64": []byte("program"), "arm64": []byte("other program")},
		Engines:  map[string][]byte{"javascript.wasm": []byte("engine")},
		Notices:  map[string][]byte{"LICENSE": []byte("licence")},
	}
}

// written returns the files of a layout by their names.
func written(t *testing.T, o image.Options) (folder string, files map[string]string) {
	t.Helper()
	folder, files = t.TempDir(), map[string]string{}
	if err := image.Write(folder, o); err != nil {
		t.Fatal(err)
	}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, path))
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder, files
}

func TestEqualImagesHaveEqualBytes(t *testing.T) {
	_, one := written(t, options())
	o := options()
	o.Created = o.Created.In(time.FixedZone("", 7200))
	_, two := written(t, o)
	for name, text := range one {
		if two[name] != text {
			t.Errorf("%s differs", name)
		}
	}
	if len(one) != len(two) {
		t.Errorf("%d files and %d files", len(one), len(two))
	}
}

// pulled copies a tag of the layout as a registry would, and returns its manifest for a platform.
func pulled(t *testing.T, folder, tag, architecture string) (*memory.Store, spec.Manifest) {
	t.Helper()
	from, err := oci.New(folder)
	if err != nil {
		t.Fatal(err)
	}
	to := memory.New()
	index, err := oras.Copy(t.Context(), from, tag, to, tag, oras.DefaultCopyOptions)
	if err != nil {
		t.Fatal(err)
	}
	var all spec.Index
	decode(t, to, index, &all)
	at := slices.IndexFunc(all.Manifests, func(d spec.Descriptor) bool { return d.Platform.Architecture == architecture })
	if at < 0 || all.Manifests[at].Platform.OS != "linux" {
		t.Fatalf("no image for %s: %+v", architecture, all)
	}
	var manifest spec.Manifest
	decode(t, to, all.Manifests[at], &manifest)
	return to, manifest
}

func decode(t *testing.T, from content.Fetcher, at spec.Descriptor, to any) {
	t.Helper()
	text, err := content.FetchAll(t.Context(), from, at)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unpacked returns the headers and the contents of all layers by path; later layers win.
func unpacked(t *testing.T, from content.Fetcher, m spec.Manifest) (headers map[string]*tar.Header, contents map[string][]byte) {
	t.Helper()
	headers, contents = map[string]*tar.Header{}, map[string][]byte{}
	for _, layer := range m.Layers {
		packed, err := content.FetchAll(t.Context(), from, layer)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(plain); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			headers[header.Name] = header
			if contents[header.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return headers, contents
}

func TestImagesHaveTheProgramAndNoRights(t *testing.T) {
	folder, _ := written(t, options())
	for architecture, program := range options().Programs {
		store, manifest := pulled(t, folder, "0.1.0", architecture)
		var config spec.Image
		decode(t, store, manifest.Config, &config)
		if config.Architecture != architecture || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{image.Program}) ||
			config.Config.Labels[spec.AnnotationRevision] != "abc" || len(config.RootFS.DiffIDs) != len(manifest.Layers) {
			t.Errorf("the configuration for %s: %+v", architecture, config)
		}
		headers, contents := unpacked(t, store, manifest)
		if !bytes.Equal(contents["usr/local/bin/kopf"], program) || headers["usr/local/bin/kopf"].Mode != 0o755 {
			t.Errorf("%s: the program is %q", architecture, contents["usr/local/bin/kopf"])
		}
		for path, header := range headers {
			if header.Mode&0o6022 != 0 && path != "tmp/" {
				t.Errorf("%s has the mode %o", path, header.Mode)
			}
		}
		if headers["cache/"].Uid != image.User || headers["tmp/"].Mode != 0o1777 || !strings.Contains(string(contents["etc/passwd"]), "nonroot:x:65532:65532:") {
			t.Errorf("%s: the volumes or the user are missing", architecture)
		}
		if _, ok := contents["usr/local/bin/engines/javascript.wasm"]; ok {
			t.Error("the small image has an engine")
		}
		if !x509.NewCertPool().AppendCertsFromPEM(contents[image.Authorities[1:]]) {
			t.Error("there are no certificates of authorities")
		}
	}
}

// TestTheVariantForScriptsAddsALayer: all other layers are shared with the image of the same version.
func TestTheVariantForScriptsAddsALayer(t *testing.T) {
	folder, _ := written(t, options())
	_, small := pulled(t, folder, "0.1.0", "arm64")
	store, large := pulled(t, folder, "0.1.0-scripts", "arm64")
	if len(large.Layers) != len(small.Layers)+1 || large.Layers[0].Digest != small.Layers[0].Digest || large.Layers[1].Digest != small.Layers[1].Digest {
		t.Errorf("the layers %v and %v", small.Layers, large.Layers)
	}
	if _, contents := unpacked(t, store, large); string(contents["usr/local/bin/engines/javascript.wasm"]) != "engine" {
		t.Error("the engine is missing")
	}
}

func TestLayoutsAreNotMixed(t *testing.T) {
	folder, _ := written(t, options())
	if err := image.Write(folder, options()); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("the error is %v", err)
	}
}
