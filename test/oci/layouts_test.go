package oci_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/test/registrytest"
)

// What others push by the layout of the CNCF runs, however they write it down: with all
// that the config may tell, as wkg does for core modules, with the least of it, and with the
// extras that manifests may have.
//
// See https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/
func TestLayoutsOfOthers(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Options{})
	module, err := os.ReadFile(b.module())
	if err != nil {
		t.Fatal(err)
	}
	const config, layer = "application/vnd.wasm.config.v0+json", "application/wasm"
	sum := layout.Digest(module)
	tests := []struct{ name, config, configType, layerType, more, layerMore string }{
		{
			"wkg", `{"created":"2026-01-02T03:04:05.678901234Z","author":"someone","architecture":"wasm","os":"wasip1","layerDigests":["` + sum + `"]}`, config, layer,
			`,"annotations":{"org.opencontainers.image.version":"0.1.0","org.opencontainers.image.created":"2026-01-02T03:04:05Z"}`, "",
		},
		{"least", `{"architecture":"wasm","os":"wasip1","layerDigests":["` + sum + `"]}`, config, layer, "", ""},
		{"no-component", `{"architecture":"wasm","os":"wasip1","layerDigests":["` + sum + `"],"component":null}`, config, layer, "", `,"annotations":{"org.opencontainers.image.title":"../../../etc/passwd"}`},
		{"artifact-type", `{}`, "application/vnd.oci.empty.v1+json", layer, `,"artifactType":"application/vnd.example"`, ""},
		{"kubewarden", `{}`, "application/vnd.wasm.config.v1+json", "application/vnd.wasm.content.layer.v1+wasm", "", ""},
		{"wasmcloud", `{}`, "application/vnd.wasmcloud.actor.config", "application/vnd.module.wasm.content.layer.v1+wasm", "", ""},
	}
	client := oci.New(oci.Options{ConfigFile: b.file("none.json", "{}")})
	defer client.Close()
	for _, tt := range tests {
		ref := oci.Reference{Registry: r.Host, Repository: "others/" + tt.name, Tag: "0.1.0"}
		manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":%q,"digest":%q,"size":%d},"layers":[{"mediaType":%q,"digest":%q,"size":%d%s}]%s}`,
			layout.MediaManifest, tt.configType, layout.Digest([]byte(tt.config)), len(tt.config), tt.layerType, sum, len(module), tt.layerMore, tt.more)
		parts := map[string][]byte{layout.Digest([]byte(tt.config)): []byte(tt.config), sum: module}
		if err := client.Put(t.Context(), ref, []byte(manifest), parts); err != nil {
			t.Fatal(err)
		}
		b.refused(1, []string{"no configuration of a cluster"}, "run", ref.String(), "-n", "default") // it came as far as the cluster
		if pulled := b.must("pull", ref.String(), "-o", tt.name+".wasm"); pulled != ref.String()+"@"+layout.Digest([]byte(manifest)) {
			t.Errorf("%s: pulled %s", tt.name, pulled)
		}
		if b.read(tt.name+".wasm") != string(module) {
			t.Errorf("%s: another module came back", tt.name)
		}
	}
}
