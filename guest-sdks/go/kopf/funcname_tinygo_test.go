//go:build tinygo

package kopf

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// TestRegistrationWithoutNames registers what a compiler knows no names of: the registration is
// refused until each handler has an id, and handlers with one id have identities.
func TestRegistrationWithoutNames(t *testing.T) {
	tests := []struct {
		name  string
		opts  [][]Option // of each handler
		fails string
	}{
		{"no id", [][]Option{nil}, `add an id to the registration, such as kopf.ID("create")`},
		{"an id", [][]Option{{ID("a")}}, ""},
		{"two ids", [][]Option{{ID("a")}, {ID("b")}}, ""},
		{"one id", [][]Option{{ID("a")}, {ID("a")}}, "add kopf.Identity to both"},
		{"one id and one identity", [][]Option{{ID("a"), Identity("x")}, {ID("a"), Identity("x")}}, ""},
		{"one id and two identities", [][]Option{{ID("a"), Identity("x")}, {ID("a"), Identity("y")}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := guest.Default
			defer func() { guest.Default = before }()
			guest.Default = &guest.Module{Host: guest.Noone{}}
			for i, opts := range tt.opts {
				if i == 0 {
					OnResume("things", named, Join(opts...))
				} else {
					OnCreate("things", named, Join(opts...))
				}
			}
			var answer abi.Registration
			if err := json.Unmarshal(guest.Default.Register([]byte(`{"abi":1}`)), &answer); err != nil {
				t.Fatal(err)
			}
			if (tt.fails == "") != (answer.Error == "") || !strings.Contains(answer.Error, tt.fails) {
				t.Errorf("error %q, want %q", answer.Error, tt.fails)
			}
		})
	}
}

func TestOneCause(t *testing.T) {
	tests := []struct {
		a, b abi.Kind
		want bool
	}{
		{abi.KindCreate, abi.KindCreate, true},
		{abi.KindCreate, abi.KindUpdate, false},
		{abi.KindCreate, abi.KindResume, true},
		{abi.KindField, abi.KindDelete, true},
		{abi.KindTimer, abi.KindTimer, true},
		{abi.KindTimer, abi.KindField, false},
	}
	for _, tt := range tests {
		if oneCause(tt.a, tt.b) != tt.want || oneCause(tt.b, tt.a) != tt.want {
			t.Errorf("%s and %s: want %v", tt.a, tt.b, tt.want)
		}
	}
}
