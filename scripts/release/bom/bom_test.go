package bom_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"

	"github.com/kopf-wasm/kopf/scripts/release/bom"
	"github.com/kopf-wasm/kopf/scripts/release/licences"
)

func TestComponentsHaveNamesLicencesAndChecksums(t *testing.T) {
	o := bom.Options{
		Name: "kopf", Version: "0.1.0", Module: "example.com/kopf", Created: time.Unix(1_700_000_000, 0),
		Components: []licences.Component{
			{Kind: "golang", Name: "example.com/a", Version: "v1.0.0+incompatible", IDs: []string{"BSD-3-Clause", "MIT"}},
			{Kind: "cargo", Name: "b", Version: "2.0.0", IDs: []string{"MIT OR Apache-2.0"}},
			{Kind: "deb", Name: "python3.11", Version: "3.11.2-6"},
		},
		Sums: map[string]string{"example.com/a v1.0.0+incompatible": "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
	}
	text, err := bom.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := bom.Write(o)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("two documents of one release differ: %v", err)
	}
	var read cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&read); err != nil {
		t.Fatal(err)
	}
	all := *read.Components
	if all[0].PackageURL != "pkg:golang/example.com/a@v1.0.0%2Bincompatible" || len(*all[0].Licenses) != 2 || (*all[0].Hashes)[0].Value != "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" {
		t.Errorf("the Go module: %+v", all[0])
	}
	if (*all[1].Licenses)[0].Expression != "MIT OR Apache-2.0" || all[2].PackageURL != "pkg:deb/debian/python3.11@3.11.2-6" {
		t.Errorf("the others: %+v", all[1:])
	}
	var raw map[string]any
	if err := json.Unmarshal(text, &raw); err != nil || raw["specVersion"] != "1.6" || raw["bomFormat"] != "CycloneDX" {
		t.Errorf("the format: %v, %v", raw, err)
	}
}
