package operator

import (
	"slices"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// A key that no module wants is named: it may be mistyped.
func TestUnreadConfiguration(t *testing.T) {
	wants := func(keys ...string) *abi.Registration {
		return &abi.Registration{Capabilities: &abi.Capabilities{Config: keys}}
	}
	for name, tt := range map[string]struct {
		given, keys, wanted []string
		all                 []*abi.Registration
	}{
		"a mistyped one":            {[]string{"regoin", "token", "regoin"}, []string{"regoin"}, []string{"region", "token"}, []*abi.Registration{wants("token", "region")}},
		"for one of two modules":    {[]string{"region", "token"}, nil, nil, []*abi.Registration{wants("token"), wants("region")}},
		"a module that gets all":    {[]string{"region"}, nil, nil, []*abi.Registration{wants("token"), {}}},
		"no modules":                {[]string{"region"}, nil, nil, nil},
		"nothing is given to a one": {nil, nil, nil, []*abi.Registration{wants("token")}},
	} {
		t.Run(name, func(t *testing.T) {
			keys, wanted := unread(tt.given, tt.all)
			if !slices.Equal(keys, tt.keys) || len(keys) > 0 && !slices.Equal(wanted, tt.wanted) {
				t.Errorf("got %q of %q, want %q of %q", keys, wanted, tt.keys, tt.wanted)
			}
		})
	}
}
