package oci_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
)

// TestImagesHaveTheirParts: an index is described with what it lists, and a manifest of a module without a list.
func TestImagesHaveTheirParts(t *testing.T) {
	r := ocitest.New(t)
	listed := layout.Describe(layout.MediaManifest, []byte("amd64"))
	index := []byte(`{"mediaType":"` + mediaIndex + `","manifests":[{"mediaType":"` + listed.MediaType + `","digest":"` + listed.Digest + `","size":5}]}`)
	digest := r.Tag("image", mediaIndex, index)
	module := r.Pack(t, "module", []byte("\x00asm\x01\x00\x00\x00"))
	client := oci.New(oci.Options{Configs: [][]byte{}})
	defer client.Close()

	got, err := client.Image(t.Context(), r.Ref("image"))
	if err != nil {
		t.Fatal(err)
	}
	want := &oci.Image{Reference: r.Ref("image"), Descriptor: layout.Describe(mediaIndex, index), Listed: []layout.Descriptor{listed}}
	want.Reference.Digest = digest
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := client.Image(t.Context(), r.Ref("module")); err != nil || got.Descriptor.Digest != module || got.Listed != nil {
		t.Errorf("a module is %v, %v", got, err)
	}
}

func TestImagesThatAreNone(t *testing.T) {
	r := ocitest.New(t)
	client := oci.New(oci.Options{Configs: [][]byte{}})
	defer client.Close()
	r.Tag("page", "text/html", []byte("<html>"))
	if _, err := client.Image(t.Context(), r.Ref("page")); !errors.Is(err, oci.ErrImage) || !strings.HasPrefix(err.Error(), r.Ref("page").String()) {
		t.Errorf("a page: %v", err)
	}
	if _, err := client.Image(t.Context(), r.Ref("absent")); !errors.Is(err, oci.ErrNotFound) {
		t.Errorf("nothing: %v", err)
	}
	digest := r.Tag("image", mediaIndex, []byte(`{"manifests":[]}`))
	r.PutAs(digest, []byte(`{"manifests":[ ]}`))
	if _, err := client.Image(t.Context(), r.Ref("image")); !errors.Is(err, oci.ErrTampered) {
		t.Errorf("another content: %v", err)
	}
}
