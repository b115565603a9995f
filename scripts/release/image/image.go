// Package image writes the image of kopf as an OCI image layout, without a container engine. An image has the program,
// certificates of authorities, a user that is not root, and nothing else.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
package image

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	spec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/kopf-wasm/kopf/scripts/release/archives"
)

// Program is the path of the program in the image. Engines of scripts are next to it, where it looks for them.
const Program = "/usr/local/bin/kopf"

// Cache is the folder of compiled modules. Mount a volume there if the root file system is read-only.
const Cache = "/cache"

// User is the number of the user and of the group in the image.
const User = 65532

// ScriptsSuffix is what the tag of the variant with engines ends with.
const ScriptsSuffix = "-scripts"

// Options describe an image.
type Options struct {
	Version  string
	Revision string    // the commit of the sources
	Created  time.Time // the time of the commit

	// Programs are the programs for Linux by architecture, in Go's words: amd64, arm64.
	Programs map[string][]byte

	// Engines are the files of engines by name. Without them, there is no variant with engines.
	Engines map[string][]byte

	// Notices are the texts of licences by name. They are in /licenses of the image.
	Notices map[string][]byte
}

// Write writes the layout to a folder that is empty or new: an index for the version, and one for the variant with
// engines. Equal options give equal bytes.
func Write(folder string, o Options) error {
	l, err := newLayout(folder)
	if err != nil {
		return err
	}
	tags := map[string]map[string][]byte{o.Version: nil}
	if len(o.Engines) > 0 {
		tags[o.Version+ScriptsSuffix] = o.Engines
	}
	var all []spec.Descriptor
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		index, err := o.index(l, tags[tag])
		if err != nil {
			return err
		}
		index.Annotations = map[string]string{spec.AnnotationRefName: tag}
		all = append(all, index)
	}
	return l.finish(all)
}

// index adds an image for all architectures.
func (o Options) index(l *layout, engines map[string][]byte) (spec.Descriptor, error) {
	var manifests []spec.Descriptor
	for _, architecture := range slices.Sorted(maps.Keys(o.Programs)) {
		manifest, err := o.manifest(l, architecture, engines)
		if err != nil {
			return spec.Descriptor{}, err
		}
		manifest.Platform = &spec.Platform{OS: "linux", Architecture: architecture}
		manifests = append(manifests, manifest)
	}
	return l.addJSON(spec.MediaTypeImageIndex, spec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: spec.MediaTypeImageIndex, Manifests: manifests, Annotations: o.annotations(),
	})
}

// manifest adds the image for one architecture.
func (o Options) manifest(l *layout, architecture string, engines map[string][]byte) (spec.Descriptor, error) {
	none := spec.Descriptor{}
	parts, err := o.parts(architecture, engines)
	if err != nil {
		return none, err
	}
	config := o.config(architecture)
	var layers []spec.Descriptor
	for _, part := range parts {
		layer, unpacked, err := o.layer(l, part)
		if err != nil {
			return none, err
		}
		layers = append(layers, layer)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, unpacked)
		config.History = append(config.History, spec.History{Created: config.Created, CreatedBy: "make image"})
	}
	described, err := l.addJSON(spec.MediaTypeImageConfig, config)
	if err != nil {
		return none, err
	}
	return l.addJSON(spec.MediaTypeImageManifest, spec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: spec.MediaTypeImageManifest,
		Config: described, Layers: layers, Annotations: o.annotations(),
	})
}

// parts are the entries of the layers, those that change least first.
func (o Options) parts(architecture string, engines map[string][]byte) ([][]archives.Entry, error) {
	base, err := system()
	if err != nil {
		return nil, err
	}
	program := append(parents("usr/local/bin"), archives.Entry{Path: Program[1:], Content: o.Programs[architecture], Mode: 0o755})
	for _, name := range slices.Sorted(maps.Keys(o.Notices)) {
		program = append(program, archives.Entry{Path: "licenses/" + name, Content: o.Notices[name], Mode: 0o644})
	}
	parts := [][]archives.Entry{base, append(program, archives.Entry{Path: "licenses", Mode: fs.ModeDir | 0o755})}
	if len(engines) == 0 {
		return parts, nil
	}
	scripts := append(parents("usr/local/bin/engines"), archives.Entry{Path: "licenses", Mode: fs.ModeDir | 0o755})
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		scripts = append(scripts, archives.Entry{Path: "usr/local/bin/engines/" + name, Content: engines[name], Mode: 0o644})
	}
	return append(parts, scripts), nil
}

// layer adds a layer, and returns it with the digest of what it unpacks to.
func (o Options) layer(l *layout, entries []archives.Entry) (layer spec.Descriptor, unpacked digest.Digest, err error) {
	var plain, packed bytes.Buffer
	if err = archives.Tar(&plain, entries, o.Created); err != nil {
		return layer, "", err
	}
	w := gzip.NewWriter(&packed)
	if _, err = w.Write(plain.Bytes()); err != nil {
		return layer, "", err
	}
	if err = w.Close(); err != nil {
		return layer, "", err
	}
	layer, err = l.add(spec.MediaTypeImageLayerGzip, packed.Bytes())
	return layer, digest.FromBytes(plain.Bytes()), err
}

func (o Options) config(architecture string) spec.Image {
	created := o.Created.UTC().Truncate(time.Second)
	return spec.Image{
		Created: &created, Author: "The authors of kopf-wasm", Platform: spec.Platform{OS: "linux", Architecture: architecture},
		Config: spec.ImageConfig{
			User: "65532:65532", Entrypoint: []string{Program}, Cmd: []string{"--help"}, WorkingDir: "/", Labels: o.annotations(),
			Env:     []string{"PATH=/usr/local/bin", "HOME=/home/nonroot", "XDG_CACHE_HOME=" + Cache},
			Volumes: map[string]struct{}{Cache: {}, "/tmp": {}},
		},
		RootFS: spec.RootFS{Type: "layers"},
	}
}

// annotations are also the labels of the image.
//
// See https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md
func (o Options) annotations() map[string]string {
	const project = "https://github.com/kopf-wasm/kopf"
	return map[string]string{
		spec.AnnotationTitle: "kopf", spec.AnnotationDescription: "Kubernetes operators in WebAssembly, in the way of Kopf",
		spec.AnnotationVersion: o.Version, spec.AnnotationRevision: o.Revision, spec.AnnotationCreated: o.Created.UTC().Format(time.RFC3339),
		spec.AnnotationSource: project, spec.AnnotationURL: project, spec.AnnotationLicenses: "Apache-2.0",
		spec.AnnotationDocumentation: project + "/blob/main/docs/deployment.md",
	}
}
