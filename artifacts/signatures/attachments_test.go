package signatures

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
)

// TestPayloadsHaveABoundTogether: all signatures of an artifact are in memory at once, before any is verified.
func TestPayloadsHaveABoundTogether(t *testing.T) {
	for count, good := range map[int]bool{maxPayloads / maxPayload: true, maxPayloads/maxPayload + 1: false} {
		r := ocitest.New(t)
		at := r.Ref("v1").At(r.Pack(t, "v1", []byte("\x00asm\x01\x00\x00\x00")))
		var layers []layout.Descriptor
		for i := range count {
			layer := r.Put(mediaPayload, bytes.Repeat([]byte{byte(i)}, maxPayload))
			layer.Annotations = map[string]string{annotationSignature: "c2ln"}
			layers = append(layers, layer)
		}
		manifest, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": layout.MediaManifest, "config": r.Put(layout.MediaEmpty, []byte("{}")), "layers": layers})
		if err != nil {
			t.Fatal(err)
		}
		r.Tag(oci.SignatureTag(at.Digest), layout.MediaManifest, manifest)
		client := oci.New(oci.Options{})
		found, err := Collect(t.Context(), client, at)
		if good && (err != nil || len(found) != count) || !good && (!errors.Is(err, oci.ErrLayout) || !strings.Contains(err.Error(), "together")) {
			t.Errorf("%d of a megabyte: %d found, %v", count, len(found), err)
		}
		client.Close()
	}
}

// TestAnnotationsAreLegible: a signer chooses the annotations, and kopf verify shows them.
func TestAnnotationsAreLegible(t *testing.T) {
	s := &Signer{Identity: "key", Annotations: map[string]string{"a\x1b[2J\nsigned by other": "b\x1b"}}
	if text := s.String(); strings.ContainsAny(text, "\x1b\n") {
		t.Errorf("%q", text)
	}
}

// TestRepeatedSignatures: to sign again with the same key adds nothing, although a signature by ECDSA is another one each time. A
// signature beyond the number that verification reads is refused.
func TestRepeatedSignatures(t *testing.T) {
	m := &layout.Manifest{}
	content := []byte("payload")
	signed := func() (err error) {
		key, _ := newKey(t)
		for range 2 {
			layer, failed := newLayer(key, content)
			err = errors.Join(err, failed, addTo(m, layer, content, key))
		}
		return err
	}
	for range maxSignatures {
		if err := signed(); err != nil {
			t.Fatal(err)
		}
	}
	if err := signed(); len(m.Layers) != maxSignatures || err == nil || !strings.Contains(err.Error(), "50 signatures") {
		t.Errorf("%d signatures, error %v", len(m.Layers), err)
	}
}
