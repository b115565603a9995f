package modules

import (
	"context"
	"path"
	"strings"

	"github.com/kopf-wasm/kopf/host/oci"
	"github.com/kopf-wasm/kopf/host/oci/layout"
)

// Push packs a module, from wherever Open finds it, and puts it under a tag. It
// returns the reference with the digest.
func (f *Finder) Push(ctx context.Context, name string, to oci.Reference, annotations map[string]string) (oci.Reference, error) {
	found, err := f.Open(ctx, name)
	if err != nil {
		return to, err
	}
	packed, err := layout.Pack(found.Module, fileName(found), annotations)
	if err != nil {
		return to, err
	}
	digest, err := f.Client.Push(ctx, to, packed)
	if err != nil {
		return to, err
	}
	to.Digest = digest
	return to, nil
}

// fileName is the name that other tools save the module under.
func fileName(found *Found) string {
	if found.Manifest == nil {
		return found.Name
	}
	if title := found.Manifest.Module.Annotations[layout.AnnotationTitle]; title != "" {
		return title
	}
	return strings.TrimSuffix(path.Base(found.Manifest.Reference.Repository), ".wasm") + ".wasm"
}
