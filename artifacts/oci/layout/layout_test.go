package layout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

var module = []byte("\x00asm\x01\x00\x00\x00")

// What is written is fixed: the same module is the same artifact everywhere.
func TestPack(t *testing.T) {
	packed, err := layout.Pack(module, "operator.wasm", map[string]string{
		layout.AnnotationCreated: "2026-11-21T15:00:00+01:00", layout.AnnotationAuthors: "me",
	})
	if err != nil {
		t.Fatal(err)
	}
	const config = `{"created":"2026-11-21T14:00:00Z","author":"me","architecture":"wasm","os":"wasip1",` +
		`"layerDigests":["sha256:93a44bbb96c751218e4c00d479e4c14358122a389acca16205b1e4d0dc5f9476"]}`
	if diff := cmp.Diff(config, string(packed.Config)); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	manifest := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"` + layout.Digest(packed.Config) + `","size":175},` +
		`"layers":[{"mediaType":"application/wasm","digest":"` + layout.Digest(module) + `","size":8,"annotations":{"org.opencontainers.image.title":"operator.wasm"}}],` +
		`"annotations":{"org.opencontainers.image.authors":"me","org.opencontainers.image.created":"2026-11-21T15:00:00+01:00"}}`
	if diff := cmp.Diff(manifest, string(packed.Manifest)); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	again, err := layout.Pack(module, "operator.wasm", nil)
	if err != nil || !strings.Contains(string(again.Config), `"created":"1970-01-01T00:00:00Z"`) {
		t.Errorf("%s, %v", again.Config, err)
	}
	if _, err := layout.Pack(module, "x", map[string]string{layout.AnnotationCreated: "yesterday"}); err == nil {
		t.Error("any time is taken")
	}
	if _, err := layout.Pack([]byte("text"), "x", nil); !errors.Is(err, layout.ErrLayout) {
		t.Errorf("error %v", err)
	}
}

func TestAttach(t *testing.T) {
	subject := layout.Describe(layout.MediaManifest, []byte("manifest"))
	raw, config, err := layout.Attach(subject, "application/vnd.example", []layout.Descriptor{layout.Describe("text/plain", []byte("x"))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := layout.ReadManifest(layout.MediaManifest, raw)
	if err != nil {
		t.Fatal(err)
	}
	if m.Subject.Digest != subject.Digest || m.ArtifactType != "application/vnd.example" || m.Config.Matches(config) != nil {
		t.Errorf("%s", raw)
	}
}
