package oci_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
)

// TestAddressesAreControlled: the address of each connection is, after the name was resolved.
func TestAddressesAreControlled(t *testing.T) {
	registry := ocitest.New(t)
	registry.Pack(t, "v1", []byte("\x00asm\x01\x00\x00\x00"))
	refused := errors.New("refused")
	var asked []string
	for _, answer := range []error{nil, refused} {
		client := oci.New(oci.Options{Configs: [][]byte{}, Control: func(host string, address netip.Addr) error {
			asked = append(asked, host+" "+address.String())
			return answer
		}})
		_, err := client.Manifest(t.Context(), registry.Ref("v1"))
		if !errors.Is(err, answer) {
			t.Errorf("got %v, want %v", err, answer)
		}
		client.Close()
	}
	if len(asked) < 2 || asked[0] != "127.0.0.1 127.0.0.1" {
		t.Errorf("asked for %q", asked)
	}
}
