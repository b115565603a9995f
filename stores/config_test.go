package stores_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/stores"
)

func TestProgressConfigErrors(t *testing.T) {
	tests := []struct{ name, config, want string }{
		{"not JSON", `{`, "progress storage: invalid JSON"},
		{"not an object", `"annotations"`, `progress storage: "annotations" is not an object with a type`},
		{"no type", `{"prefix": "p"}`, `progress storage: unknown type "": want one of annotations, smart, status`},
		{"unknown type", `{"type": "redis"}`, `unknown type "redis"`},
		{"type of another kind", `{"type": 1}`, "type: 1 is not a non-empty string"},
		{"unknown field", `{"type": "annotations", "prefx": "p"}`, `progress storage: unknown field "prefx"`},
		{"field of another type", `{"type": "status", "prefix": "p"}`, `unknown field "prefix"`},
		{"empty prefix", `{"type": "annotations", "prefix": ""}`, `prefix: "" is not a non-empty string`},
		{"a prefix that no annotation has", `{"type": "annotations", "prefix": "A B"}`, `prefix: "A B" is not a domain such as "example.com"`},
		{"a prefix with a slash", `{"type": "smart", "prefix": "example.com/x"}`, `prefix: "example.com/x" is not a domain`},
		{"a prefix with an empty label", `{"type": "smart", "prefix": "example..com"}`, `prefix: "example..com" is not a domain`},
		{"a flag of another type", `{"type": "smart", "v1": "no"}`, `v1: "no" is not true or false`},
		{"a field of another type", `{"type": "status", "field": 5}`, "field: 5 is not a field"},
		{"root field", `{"type": "status", "field": []}`, "field: [] is not a field"},
		{"empty field", `{"type": "status", "touch_field": ""}`, `touch_field: "" is not a field`},
		{"empty list", `[]`, "progress storage: the list is empty"},
		{"second of a list", `[{"type": "smart"}, {"type": "status", "x": 1}]`, `progress storage 2: unknown field "x"`},
		{"a list for each event", "[" + strings.Repeat(`{"type": "status"},`, 16) + `{"type": "status"}]`, "the list has 17 storages, and at most 16 can be used"},
		{"a long prefix", `{"type": "annotations", "prefix": "` + strings.Repeat("x", 254) + `"}`, "prefix: the text has 254 bytes, and may have at most 253"},
		{"a long path", `{"type": "status", "field": "status` + strings.Repeat(".x", 600) + `"}`, "field: the path has 1207 bytes, and may have at most 1024"},
		{"several mistakes", `{"type": "smart", "x": 1, "verbose": 1}`, "verbose: 1 is not true or false\nunknown field \"x\""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			storage, err := stores.NewProgress(json.RawMessage(test.config))
			if storage != nil {
				t.Errorf("there is a storage: %v", storage)
			}
			wantError(t, err, test.want)
		})
	}
}

func TestDiffBaseConfigErrors(t *testing.T) {
	tests := []struct{ name, config, want string }{
		{"unknown type", `{"type": "smart"}`, `diff-base storage: unknown type "smart": want one of annotations, status`},
		{"ignored fields are no list", `{"type": "status", "ignored_fields": "spec.x"}`, `ignored_fields: "spec.x" is not a list of fields`},
		{"an ignored field of another type", `{"type": "annotations", "ignored_fields": ["spec.x", {}]}`, "ignored_fields: {} is not a field"},
		{"ignored fields for each event", `{"type": "status", "ignored_fields": [` + strings.Repeat(`"a",`, 256) + `"a"]}`, "ignored_fields: the list has 257 fields, and at most 256 can be ignored"},
		{"first of a list", `[null]`, "diff-base storage 1: null is not an object with a type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := stores.NewDiffBase(json.RawMessage(test.config))
			wantError(t, err, test.want)
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got the error %v, want %q in it", err, want)
	}
}
