package main

import (
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

func TestServicesAreNamedForTheirModules(t *testing.T) {
	for module, want := range map[string]string{
		"build/op.wasm":                     "op",
		"op.py":                             "op",
		"oci://registry:5000/team/my.op:v1": "my.op",
		"oci://registry/my.op@sha256:abc":   "my.op",
		"-":                                 "kopf",
	} {
		if got := serviceName([]string{module}); got != want {
			t.Errorf("%s: %q, want %q", module, got, want)
		}
	}
}

// TestManifestsAreNamedForTheirModules: kopf doctor asks for rights with this name, too, and must not complain about it.
func TestManifestsAreNamedForTheirModules(t *testing.T) {
	for module, want := range map[string]string{"My_Operator.py": "my-operator", "build/op.wasm": "op", "oci://registry:5000/team/op:v1": "op", "oci://registry/team/op.v2:v1": "op.v2"} {
		if got := (&manifestOptions{}).nameOf(module, &abi.Registration{}); got != want {
			t.Errorf("%s: %q, want %q", module, got, want)
		}
	}
}
