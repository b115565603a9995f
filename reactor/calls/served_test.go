package calls_test

import (
	"testing"

	"github.com/kopf-wasm/kopf/reactor/calls"
)

// TestServedNamespacesCanChange: guests may post events where the operator serves now. An
// empty name stands for no namespace at all.
func TestServedNamespacesCanChange(t *testing.T) {
	served := []string{"a"}
	caller := calls.New(calls.Options{Served: func() []string { return served }}, nil)
	defer caller.Close()
	for _, tt := range []struct {
		served []string
		a, b   bool
	}{{[]string{"a"}, true, false}, {[]string{"a", "b"}, true, true}, {[]string{""}, false, false}} {
		served = tt.served
		if a, b := caller.AllowsEvents("a") == nil, caller.AllowsEvents("b") == nil; a != tt.a || b != tt.b {
			t.Errorf("%q: %v, %v", tt.served, a, b)
		}
	}
	if caller.AllowsEvents("") == nil {
		t.Error("cluster-scoped objects are served")
	}
}
