package main

import "testing"

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
