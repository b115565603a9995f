package operator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

func TestPeeringOverridesSettings(t *testing.T) {
	yes, five := true, 5
	own := func() *settings.Settings {
		s := settings.Default()
		s.Peering.Priority, s.Peering.Name = 3, "own"
		return s
	}
	tests := []struct {
		name    string
		peering Peering
		base    *settings.Settings
		want    settings.Peering
	}{
		{"nothing", Peering{}, nil, settings.Default().Peering},
		{"nothing over settings", Peering{}, own(), own().Peering},
		{"a name is mandatory", Peering{Name: "x"}, own(), settings.Peering{Name: "x", Mandatory: true, Priority: 3, Lifetime: own().Peering.Lifetime}},
		{"all", Peering{Name: "x", Standalone: &yes, Priority: &five}, nil, settings.Peering{Name: "x", Mandatory: true, Standalone: true, Priority: 5, Lifetime: own().Peering.Lifetime}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.peering.applied(tt.base).Peering); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}
