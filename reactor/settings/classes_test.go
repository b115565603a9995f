package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

// TestAdmissionSettings checks that the setting of the server records whether a guest has
// set it.
func TestAdmissionSettings(t *testing.T) {
	s := settings.Default()
	set := func(byGuest bool, name, value string) {
		t.Helper()
		set := s.Set
		if byGuest {
			set = func(name string, value json.RawMessage) error {
				_, err := s.SetByGuest(map[string]json.RawMessage{name: value}, []string{name})
				return err
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

// Values that a guest sets are limited, with a warning. Values of the administrator are
// not.
func TestPausesThatGuestsSetAreBounded(t *testing.T) {
	for name, tt := range map[string]struct{ value, want, warning string }{
		"networking.error_backoffs":  {`{"list": [0], "repeatLast": true}`, `[1,1,1,1,1,1,1,1,1]`, "pauses are 1s at least, and attempts 10 at most"},
		"posting.default_backoffs":   {`[0.1]`, `[1]`, "pauses are 1s at least"},
		"posting.logging_backoffs":   {`[0]`, `[1]`, "pauses are 1s at least"},
		"watching.reconnect_backoff": {`0`, `0.1`, "it is 100ms at least"},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]json.RawMessage{name: json.RawMessage(tt.value)}
			guest, owner := settings.Default(), settings.Default()
			warnings, err := guest.SetByGuest(values, nil)
			if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], name) || !strings.Contains(warnings[0], tt.warning) {
				t.Errorf("warnings %q, %v", warnings, err)
			}
			if got := valueOf(t, guest, name); got != tt.want {
				t.Errorf("a guest has set %s, want %s", got, tt.want)
			}
			if err := owner.SetAll(values); err != nil {
				t.Error(err)
			}
			if got := valueOf(t, owner, name); got == tt.want {
				t.Errorf("the owner has set %s, want %s", got, tt.value)
			}
			again := map[string]json.RawMessage{name: json.RawMessage(tt.want)}
			if warnings, err := guest.SetByGuest(again, nil); err != nil || len(warnings) > 0 {
				t.Errorf("a harmless value: warnings %q, %v", warnings, err)
			}
		})
	}
}

func valueOf(t *testing.T, s *settings.Settings, name string) string {
	t.Helper()
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return string(all[name])
}
