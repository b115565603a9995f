package layout_test

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// The worst manifests and configs that were found take memory in proportion to their size.
func TestWorstManifests(t *testing.T) {
	repeated := func(size int, head, part, tail string) []byte {
		return []byte(head + strings.TrimSuffix(strings.Repeat(part, size/len(part)-100), ",") + tail)
	}
	const typed = `{"mediaType":"` + layout.MediaManifest + `",`
	for name, content := range map[string][]byte{
		"layers":          repeated(layout.MaxManifest, typed+`"layers":[`, `{},`, `]}`),
		"null layers":     repeated(layout.MaxManifest, typed+`"layers":[`, `null,`, `]}`),
		"annotations":     repeated(layout.MaxManifest, typed+`"annotations":{`, `"":"",`, `}}`),
		"of a layer":      repeated(layout.MaxManifest, typed+`"layers":[{"annotations":{`, `"":"",`, `}}]}`),
		"unknown members": repeated(layout.MaxManifest, `{`, `"":[],`, `,"x":1}`),
		"nesting":         repeated(layout.MaxManifest, `{"x":`, `[`, ``),
		"data":            repeated(layout.MaxManifest, typed+`"layers":[{"data":"`, `AAAA`, `"}]}`),
	} {
		boundedtest.Parse(t, name, content, func(content []byte) error {
			_, err := layout.ReadManifest(layout.MediaManifest, content)
			return err
		})
	}
	m := &layout.Manifest{Config: layout.Descriptor{MediaType: layout.MediaConfig}, Layers: make([]layout.Descriptor, 1)}
	for name, content := range map[string][]byte{
		"digests":       repeated(layout.MaxConfig, `{"layerDigests":[`, `"",`, `]}`),
		"other members": repeated(layout.MaxConfig, `{`, `"":{},`, `,"x":1}`),
	} {
		boundedtest.Parse(t, name, content, m.CheckConfig)
	}
}

// Whatever a manifest says, reading it ends, and its module is one that may be fetched.
func FuzzReadManifest(f *testing.F) {
	packed, err := layout.Pack([]byte("\x00asm\x01\x00\x00\x00"), "operator.wasm", map[string]string{"a": "b"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed.Manifest, packed.Config)
	f.Add([]byte(`{"layers":[{},{}],"config":null}`), []byte(`{"layerDigests":[""]}`))
	f.Fuzz(func(t *testing.T, manifest, config []byte) {
		m, err := layout.ReadManifest(layout.MediaManifest, manifest)
		if err != nil {
			return
		}
		module, err := m.Module(1 << 20)
		if err != nil {
			return
		}
		if module.Size < 8 || module.Size > 1<<20 || !layout.ValidDigest(module.Digest) {
			t.Errorf("%+v", module)
		}
		_ = m.CheckConfig(config) // it may be any
	})
}
