package activities

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// keeper notes the calls of Keep.
type keeper struct {
	*reactortest.Scripted
	kept []bool
}

func (k *keeper) Keep(succeeded bool) error {
	k.kept = append(k.kept, succeeded)
	return nil
}

// TestGuestsKeepWhatStartupHandlersLeave: when all of them have ended, after all attempts, and not after other activities.
func TestGuestsKeepWhatStartupHandlersLeave(t *testing.T) {
	const (
		done = `{"step":"done"}`
		late = `{"step":"done","error":{"kind":"temporary","message":"later","delay":1}}`
		lost = `{"step":"done","error":{"kind":"permanent","message":"never"}}`
	)
	for name, tt := range map[string]struct {
		kind     abi.Kind
		attempts []string
		want     []bool
	}{
		"success":          {abi.KindStartup, []string{late, late, done}, []bool{true}},
		"failure":          {abi.KindStartup, []string{late, lost}, []bool{false}},
		"another activity": {abi.KindProbe, []string{done}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guest := &keeper{Scripted: &reactortest.Scripted{Attempts: tt.attempts}}
				a := activityOf(t, tt.kind, guest, "fn")
				if _, err := a.Run(t.Context()); (err != nil) != slices.Equal(tt.want, []bool{false}) {
					t.Errorf("error %v", err)
				}
				if !slices.Equal(guest.kept, tt.want) {
					t.Errorf("kept %v, want %v", guest.kept, tt.want)
				}
			})
		})
	}
}
