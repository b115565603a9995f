// Package bom writes the list of components of a release, a software bill of materials.
//
// See https://cyclonedx.org/docs/1.6/json/
package bom

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"

	"github.com/kopf-wasm/kopf/scripts/release/licences"
)

// Options describe a release.
type Options struct {
	Name, Version string
	Module        string // the Go module of the program
	Created       time.Time
	Components    []licences.Component
	Sums          map[string]string // checksums of Go modules, as in go.sum, by "PATH VERSION"
}

// Write returns the document in JSON. Equal options give equal bytes: its serial number is made of its content.
func Write(o Options) ([]byte, error) {
	document := cyclonedx.NewBOM()
	document.Metadata = &cyclonedx.Metadata{
		Timestamp: o.Created.UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{
			Type: cyclonedx.ComponentTypeApplication, Name: o.Name, Version: o.Version, BOMRef: purl("golang", o.Module, "v"+o.Version), PackageURL: purl("golang", o.Module, "v"+o.Version),
			Licenses: licenses([]string{"Apache-2.0"}),
		},
	}
	var all []cyclonedx.Component
	var refs []string
	for _, c := range o.Components {
		component, err := o.component(c)
		if err != nil {
			return nil, err
		}
		all, refs = append(all, component), append(refs, component.BOMRef)
	}
	document.Components = &all
	document.Dependencies = &[]cyclonedx.Dependency{{Ref: document.Metadata.Component.BOMRef, Dependencies: &refs}}
	unnumbered, err := encode(document)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(unnumbered)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8: RFC 9562
	document.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	return encode(document)
}

func (o Options) component(c licences.Component) (cyclonedx.Component, error) {
	at := purl(c.Kind, c.Name, c.Version)
	component := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: c.Name, Version: c.Version, BOMRef: at, PackageURL: at, Licenses: licenses(c.IDs),
	}
	sum, ok := strings.CutPrefix(o.Sums[c.Name+" "+c.Version], "h1:")
	if !ok {
		return component, nil
	}
	raw, err := base64.StdEncoding.DecodeString(sum)
	if err != nil {
		return component, fmt.Errorf("the checksum of %s: %w", c.Name, err)
	}
	component.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
	return component, nil
}

// licenses are identifiers, or one expression.
func licenses(ids []string) *cyclonedx.Licenses {
	var all cyclonedx.Licenses
	for _, id := range ids {
		if strings.Contains(id, " ") {
			return &cyclonedx.Licenses{{Expression: id}}
		}
		all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	if len(all) == 0 {
		return nil
	}
	return &all
}

// purl returns a package URL.
//
// See https://github.com/package-url/purl-spec
func purl(kind, name, version string) string {
	if kind == "deb" {
		name = "debian/" + name
	}
	text := "pkg:" + kind + "/" + name
	if version != "" {
		text += "@" + url.QueryEscape(version)
	}
	return text
}

func encode(document *cyclonedx.BOM) ([]byte, error) {
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(document, cyclonedx.SpecVersion1_6)
	return out.Bytes(), err
}
