package e2e_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/test/clustertest"
)

// recorded is what the reference did in a case, in part.
type recorded struct {
	Calls  []map[string]any
	Writes []write
}

// write is a request that changes an object.
type write struct {
	Body any `json:"body"`
	Code int `json:"code"`
}

// TestRecordedCase does the steps of a recorded case: the handlers must get, and the
// API server must be sent, what was recorded of the reference.
func TestRecordedCase(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	text, err := os.ReadFile("../conformance/cases/002-create-update-delete/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var want recorded
	text = []byte(strings.ReplaceAll(string(text), "<ns>", s.namespace))
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}

	const user = "operator0a" // of no other test
	config, err := clientcmd.BuildConfigFromFlags("", s.KubeconfigAs(t, user))
	if err != nil {
		t.Fatal(err)
	}
	op := s.start(t, options{
		config: map[string]string{"handlers": "create update delete"}, rest: config,
		settings: func(own *settings.Settings) { own.Peering.Standalone = true }, // as the case was recorded
	})
	s.create(t, "obj1", "{field: one}")
	s.handled(t, "obj1")
	s.patch(t, "obj1", `{"spec":{"field":"two","extra":[1]}}`)
	op.called(t, "obj1", 2)
	s.until(t, "the update is handled", func() bool {
		return strings.Contains(s.get(t, "obj1").GetAnnotations()[lastHandled], `"two"`)
	})
	s.remove(t, "obj1")
	s.gone(t, "obj1")

	var calls []map[string]any
	for _, line := range op.stdout.All() {
		var c map[string]any
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		delete(c, "started")
		delete(c, "called")
		calls = append(calls, c)
	}
	if diff := cmp.Diff(want.Calls, calls, cmp.Transformer("sort", sortedItems)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	s.eventually(t, func() error { // the log is a moment late
		if got := writesOf(t, s, user); len(got) >= len(want.Writes) {
			return nil
		}
		return os.ErrNotExist
	})
	if diff := cmp.Diff(want.Writes, writesOf(t, s, user)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// writesOf are the requests of a user that change objects of the namespace, as
// they would be recorded.
func writesOf(t *testing.T, s space, user string) []write {
	t.Helper()
	var writes []write
	for _, event := range s.AuditLog(t, user) {
		if event.Object.Namespace == s.namespace && !slices.Contains([]string{"get", "list", "watch"}, event.Verb) {
			writes = append(writes, write{normalized(t, event), event.Response.Code})
		}
	}
	return writes
}

// normalized is the body of a request in the form of recordings: versions have no
// values, and strings of JSON are parsed.
func normalized(t *testing.T, event clustertest.AuditEvent) any {
	t.Helper()
	var body any
	if err := json.Unmarshal(event.RequestBody, &body); err != nil {
		t.Fatal(err)
	}
	return normalizedValue(body)
}

func normalizedValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			value[key] = normalizedValue(item)
		}
		if value["path"] == "/metadata/resourceVersion" {
			value["value"] = "<rv>"
		}
	case []any:
		for i, item := range value {
			value[i] = normalizedValue(item)
		}
	case string:
		var inner map[string]any
		if json.Unmarshal([]byte(value), &inner) == nil {
			tail := value[len(strings.TrimRight(value, "\n")):]
			return map[string]any{"$json": inner, "$tail": tail}
		}
	}
	return value
}
