package operator

import (
	"context"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/host"
)

// TestManifestsNarrowLimits shows that a manifest lowers limits and never raises them, and that
// 0 bytes mean none.
func TestManifestsNarrowLimits(t *testing.T) {
	open := func(context.Context, string) (string, []byte, error) { return "", nil, nil }
	for text, want := range map[string]host.Options{
		"":                                     {PluginVariables: 100, PluginResponse: 200, ComputeLimit: time.Second},
		"timeout_ms: 100":                      {PluginVariables: 100, PluginResponse: 200, ComputeLimit: 100 * time.Millisecond},
		"timeout_ms: 2000":                     {PluginVariables: 100, PluginResponse: 200, ComputeLimit: time.Second},
		"timeout_ms: 1e19":                     {PluginVariables: 100, PluginResponse: 200, ComputeLimit: time.Second},
		"memory: {max_var_bytes: 99}":          {PluginVariables: 99, PluginResponse: 200, ComputeLimit: time.Second},
		"memory: {max_var_bytes: 101}":         {PluginVariables: 100, PluginResponse: 200, ComputeLimit: time.Second},
		"memory: {max_var_bytes: 0}":           {PluginVariables: -1, PluginResponse: 200, ComputeLimit: time.Second},
		"memory: {max_pages: 2}":               {PluginVariables: 100, PluginResponse: 200, ComputeLimit: time.Second, MaxMemory: 2 << 16},
		"memory: {max_pages: 0}":               {PluginVariables: 100, PluginResponse: 200, ComputeLimit: time.Second},
		"memory: {max_http_response_bytes: 0}": {PluginVariables: 100, PluginResponse: -1, ComputeLimit: time.Second},
	} {
		o := host.Options{PluginVariables: 100, PluginResponse: 200, ComputeLimit: time.Second}
		_, err := fromManifest(t.Context(), open, "m.yaml", []byte("wasm: [{path: op.wasm}]\n"+text+"\n"), &o)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if o.PluginVariables != want.PluginVariables || o.PluginResponse != want.PluginResponse || o.ComputeLimit != want.ComputeLimit || o.MaxMemory != want.MaxMemory {
			t.Errorf("%s: %d, %d, %v, %d", text, o.PluginVariables, o.PluginResponse, o.ComputeLimit, o.MaxMemory)
		}
	}
}
