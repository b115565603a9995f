package modules

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
)

// Prepare prepares a module for a push, and returns the annotations that the module
// declares.
type Prepare func(ctx context.Context, found *Found) (module []byte, annotations map[string]string, err error)

// Push packs a module that Open finds, and pushes it to a tag. The annotations override
// those that the module declares. It attaches the documents, which are given by file name.
// It returns the reference with the digest.
func (f *Finder) Push(ctx context.Context, name string, to oci.Reference, prepare Prepare, annotations map[string]string, documents map[string][]byte) (oci.Reference, error) {
	found, err := f.Open(ctx, name)
	if err != nil {
		return to, err
	}
	module, declared, err := prepare(ctx, found)
	if err != nil {
		return to, err
	}
	all := maps.Clone(declared)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, annotations)
	packed, err := layout.Pack(module, fileName(found), all)
	if err != nil {
		return to, fmt.Errorf("%s: %w", found.Name, err)
	}
	digest, err := f.Client.Push(ctx, to, packed)
	if err != nil {
		return to, err
	}
	to.Digest = digest
	return to, f.Attach(ctx, to, layout.Describe(layout.MediaManifest, packed.Manifest), documents)
}

// fileName is the name under which other tools save the module.
func fileName(found *Found) string {
	if found.Manifest == nil {
		return strings.TrimSuffix(found.Name, path.Ext(found.Name)) + ".wasm" // also of a script
	}
	if title := found.Manifest.Module.Annotations[layout.AnnotationTitle]; title != "" {
		return title
	}
	return strings.TrimSuffix(path.Base(found.Manifest.Reference.Repository), ".wasm") + ".wasm"
}
