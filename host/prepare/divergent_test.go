package prepare

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// divergentFaults is what is wrong with the guests of asm.Divergent.
var divergentFaults = map[string]struct {
	kind error
	want string
}{
	"select runs an instruction": {ErrFeature, "0x63"},
	"select leaks an address":    {ErrFeature, "0x63"},
	"select forges an address":   {ErrFeature, "0x63"},
	"vector opcode":              {ErrMalformed, "over-long"},
	"block types":                {ErrFeature, "0x63"},
	"types of locals":            {ErrFeature, "0x63"},
}

// TestDivergentModulesAreRefused: what parts of the engine read differently never reaches it.
func TestDivergentModulesAreRefused(t *testing.T) {
	for name, m := range asm.Divergent() {
		t.Run(name, func(t *testing.T) {
			_, err := prepared(m.Encode())
			want, known := divergentFaults[name]
			if !known || !errors.Is(err, want.kind) || !strings.Contains(err.Error(), want.want) {
				t.Errorf("error = %v, want %v: %q", err, want.kind, want.want)
			}
		})
	}
}
