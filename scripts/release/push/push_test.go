package push_test

import (
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

// TestReleasesAreInTheRegistry: the image with its variant, and the chart where `helm install oci://…` looks for it.
func TestReleasesAreInTheRegistry(t *testing.T) {
	folder := t.TempDir()
	o := image.Options{Version: "0.1.0", Created: time.Unix(0, 0), Programs: map[string][]byte{"amd64": {1}, "arm64": {2}}, Engines: map[string][]byte{"javascript.wasm": {3}}}
	if err := image.Write(filepath.Join(folder, "image"), o); err != nil {
		t.Fatal(err)
	}
	chart, err := os.Create(filepath.Join(folder, "kopf-0.1.0.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer chart.Close()
	if err := archives.TarGzip(chart, []archives.Entry{{Path: "kopf/Chart.yaml", Content: []byte("name: kopf\n"), Mode: 0o644}}, o.Created); err != nil {
		t.Fatal(err)
	}
	registry := registrytest.Start(t, registrytest.Options{})
	first, err := push.Release(t.Context(), "../../..", folder, registry.Host+"/me", "0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	second, err := push.Release(t.Context(), "../../..", folder, registry.Host+"/me", "0.1.0")
	if err != nil || strings.Join(first, " ") != strings.Join(second, " ") {
		t.Errorf("the second time: %v, %v, %v", first, second, err)
	}
	for i, name := range []string{"/me/kopf:0.1.0", "/me/kopf:0.1.0-scripts", "/me/charts/kopf:0.1.0"} {
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
