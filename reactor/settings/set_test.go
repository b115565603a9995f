package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/settings"
)

func TestSetAndShow(t *testing.T) {
	tests := []struct{ name, value, shown string }{
		{"queueing.worker_limit", `5`, `5`},
		{"queueing.error_delays", `[1, 2.5]`, `[1,2.5]`},
		{"queueing.error_delays", `3`, `[3]`},
		{"queueing.error_delays", `[]`, `[]`},
		{"execution.default_backoff", `1.5`, `1.5`},
		{"networking.enforce_retry_after", `true`, `true`},
		{"persistence.finalizer", `"example.com/f"`, `"example.com/f"`},
		{"peering.name", `"other"`, `"other"`},
		{"peering.priority", `-5`, `-5`},
		{"peering.lifetime", `30`, `30`},
		{"peering.stealth", `true`, `true`},
		{"peering.mandatory", `true`, `true`},
		{"peering.standalone", `true`, `true`},
		{"peering.clusterwide", `true`, `true`},
	}
	for _, tt := range tests {
		s := settings.Default()
		if err := s.Set(tt.name, json.RawMessage(tt.value)); err != nil {
			t.Errorf("%s = %s: %v", tt.name, tt.value, err)
		}
		all, err := s.JSON()
		var values map[string]json.RawMessage
		if err != nil || json.Unmarshal(all, &values) != nil || string(values[tt.name]) != tt.shown {
			t.Errorf("%s: shown as %s, %v; want %s", tt.name, values[tt.name], err, tt.shown)
		}
	}
}

func TestStorages(t *testing.T) {
	s := settings.Default()
	before := s.Persistence
	for _, name := range []string{"persistence.progress_storage", "persistence.diffbase_storage"} {
		if err := s.Set(name, json.RawMessage(`{"type":"status","name":"op"}`)); err != nil {
			t.Error(err)
		}
	}
	if s.Persistence.Progress == before.Progress || s.Persistence.DiffBase == before.DiffBase {
		t.Error("the storages are the same as before")
	}
}

func TestBadSettings(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"execution.backoff", `1`, `unknown setting "execution.backoff"; known are: execution.default_backoff, execution.executor`},
		{"execution.default_backoff", `"soon"`, `setting "execution.default_backoff": "soon" is not a number of seconds`},
		{"execution.default_backoff", `-1`, `setting "execution.default_backoff": -1 is negative`},
		{"queueing.worker_limit", `1.5`, `setting "queueing.worker_limit": 1.5 is not a whole number`},
		{"queueing.worker_limit", `-1`, `is negative`},
		{"peering.priority", `"high"`, `is not a whole number`},
		{"peering.name", `""`, `must be non-empty`},
		{"peering.name", `"../x"`, `invalid name "../x": may not contain '/'`},
		{"admission.managed", `"a/b"`, `invalid name "a/b"`},
		{"queueing.error_delays", `["x"]`, `is not a number, a list of numbers of seconds`},
		{"posting.enabled", `"no"`, `"no" is not true or false`},
		{"persistence.finalizer", `""`, `it is empty`},
		{"persistence.finalizer", `"bad name"`, `setting "persistence.finalizer": invalid name "bad name": `},
		{"persistence.progress_storage", `{"type":"cloud"}`, `setting "persistence.progress_storage"`},
	}
	for _, tt := range tests {
		s := settings.Default()
		err := s.Set(tt.name, json.RawMessage(tt.value))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s = %s: %v, want %q", tt.name, tt.value, err, tt.want)
		}
	}
}
