package settings_test

import (
	"encoding/json"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// TestAdmissionSettings: the server remembers who has set it.
func TestAdmissionSettings(t *testing.T) {
	s := settings.Default()
	set := func(byGuest bool, name, value string) {
		t.Helper()
		set := s.Set
		if byGuest {
			set = func(name string, value json.RawMessage) error {
				return s.SetByGuest(map[string]json.RawMessage{name: value}, []string{name})
			}
		}
		if err := set(name, json.RawMessage(value)); err != nil {
			t.Fatal(err)
		}
	}
	set(true, "admission.server", ` {"type": "server"} `)
	if string(s.Admission.Server) != `{"type": "server"}` || !s.Admission.FromGuest {
		t.Errorf("by a guest: %+v", s.Admission)
	}
	set(false, "admission.server", `"k3d"`)
	if string(s.Admission.Server) != `"k3d"` || s.Admission.FromGuest {
		t.Errorf("by the host: %+v", s.Admission)
	}
	set(false, "admission.server", `null`)
	set(true, "admission.managed", `"x"`)
	if s.Admission.Server != nil || s.Admission.Managed != "x" {
		t.Errorf("switched off: %+v", s.Admission)
	}
	set(true, "admission.managed", `null`)
	if s.Admission.Managed != "" {
		t.Errorf("switched off: %+v", s.Admission)
	}
	if err := s.Set("admission.managed", json.RawMessage(`5`)); err == nil {
		t.Error("a number is a name")
	}
}
