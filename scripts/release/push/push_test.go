package push_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oras.land/oras-go/v2/registry/remote"

	"github.com/kopf-wasm/kopf/scripts/release/archives"
	"github.com/kopf-wasm/kopf/scripts/release/image"
	"github.com/kopf-wasm/kopf/scripts/release/push"
	"github.com/kopf-wasm/kopf/test/registrytest"
)

// TestReleasesAreInTheRegistry: the image with its variant, the chart where `helm install oci://…` looks for it, and the
// engines where `kopf run --engine oci://…` finds them.
func TestReleasesAreInTheRegistry(t *testing.T) {
	folder := t.TempDir()
	o := image.Options{Version: "0.1.0", Created: time.Unix(0, 0), Programs: map[string][]byte{"amd64": {1}, "arm64": {2}}, Engines: map[string][]byte{"javascript.wasm": {3}}}
	if err := image.Write(filepath.Join(folder, "image"), o); err != nil {
		t.Fatal(err)
	}
	archive(t, filepath.Join(folder, "kopf-0.1.0.tgz"), map[string][]byte{"Chart.yaml": []byte("name: kopf\n")})
	module := []byte("\x00asm\x01\x00\x00\x00")
	archive(t, filepath.Join(folder, "kopf_0.1.0_engines.tar.gz"), map[string][]byte{"javascript.wasm": module, "NOTICES": {}, "python.wasm": module})
	registry := registrytest.Start(t, registrytest.Options{})
	first, err := push.Release(t.Context(), "../../..", folder, registry.Host+"/me", "0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	second, err := push.Release(t.Context(), "../../..", folder, registry.Host+"/me", "0.1.0")
	if err != nil || strings.Join(first, " ") != strings.Join(second, " ") {
		t.Errorf("the second time: %v, %v, %v", first, second, err)
	}
	for i, name := range []string{"/me/kopf:0.1.0", "/me/kopf:0.1.0-scripts", "/me/charts/kopf:0.1.0", "/me/engines/javascript:0.1.0", "/me/engines/python:0.1.0"} {
		if i >= len(first) || !strings.HasPrefix(first[i], registry.Host+name+"@sha256:") {
			t.Fatalf("pushed %v", first)
		}
		repository, err := remote.NewRepository(strings.SplitN(first[i], "@", 2)[0])
		if err != nil {
			t.Fatal(err)
		}
		repository.PlainHTTP = true
		if at, err := repository.Resolve(t.Context(), repository.Reference.Reference); err != nil || !strings.HasSuffix(first[i], string(at.Digest)) {
			t.Errorf("%s: %v, %v", name, at, err)
		}
	}
}

// archive writes an archive of a release, with all files in one folder.
func archive(t *testing.T, path string, files map[string][]byte) {
	t.Helper()
	var entries []archives.Entry
	for name, text := range files {
		entries = append(entries, archives.Entry{Path: "kopf/" + name, Content: text, Mode: 0o644})
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(archives.TarGzip(file, entries, time.Unix(0, 0)), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestReleasesWithoutEngines: the image has no variant, and no engines are pushed.
func TestReleasesWithoutEngines(t *testing.T) {
	folder := t.TempDir()
	if err := image.Write(filepath.Join(folder, "image"), image.Options{Version: "0.1.0", Created: time.Unix(0, 0), Programs: map[string][]byte{"amd64": {1}}}); err != nil {
		t.Fatal(err)
	}
	archive(t, filepath.Join(folder, "kopf-0.1.0.tgz"), map[string][]byte{"Chart.yaml": []byte("name: kopf\n")})
	registry := registrytest.Start(t, registrytest.Options{})
	pushed, err := push.Release(t.Context(), "../../..", folder, registry.Host+"/me", "0.1.0")
	if err != nil || len(pushed) != 2 {
		t.Errorf("pushed %v, %v", pushed, err)
	}
}

// TestBrokenEnginesAreNamed: an engine that is text, and one that is empty.
func TestBrokenEnginesAreNamed(t *testing.T) {
	for name, tt := range map[string]struct{ engine, want string }{"text": {"text", "python.wasm"}, "nothing": {"", "python.wasm"}} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "kopf_0.1.0_engines.tar.gz")
			archive(t, path, map[string][]byte{"python.wasm": []byte(tt.engine)})
			if err := image.Write(filepath.Join(folder, "image"), image.Options{Version: "0.1.0", Created: time.Unix(0, 0), Programs: map[string][]byte{"amd64": {1}}}); err != nil {
				t.Fatal(err)
			}
			archive(t, filepath.Join(folder, "kopf-0.1.0.tgz"), map[string][]byte{"Chart.yaml": []byte("name: kopf\n")})
			registry := registrytest.Start(t, registrytest.Options{})
			if _, err := push.Release(t.Context(), "../../..", folder, registry.Host+"/me", "0.1.0"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
