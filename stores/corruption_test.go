package stores_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

func annotated(key string, value any) stores.Object {
	return stores.Object{"metadata": stores.Object{"annotations": stores.Object{key: value}}}
}

func TestCorruptedProgressIsNamed(t *testing.T) {
	const place = "annotation kopf.zalando.org/fn"
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"not JSON", "{retries: 1}", "invalid JSON"},
		{"empty", "", "the text is empty"},
		{"two documents", "{}{}", "unexpected text"},
		{"not an object", "[]", "a record must be an object"},
		{"not even a text", stores.Object{}, "{} is not a string"},
		{"text for a number", `{"retries": "3"}`, `retries: "3" is not a number`},
		{"too large a number", `{"retries": 1e300}`, "retries: 1e+300 is not a possible count"},
		{"impossible time", `{"started": "2020-02-30T00:00:00Z"}`, "started: \"2020-02-30T00:00:00Z\" is not a possible time"},
		{"no time", `{"delayed": "soon"}`, `delayed: "soon" is not a timestamp`},
		{"no list of ids", `{"subrefs": "fn/a"}`, `subrefs: "fn/a" is not a list`},
		{"a list of other things", `{"subrefs": ["fn/a", null]}`, "subrefs: null is not a string"},
		{"several mistakes", `{"purpose": {}, "message": []}`, "purpose: {} is not of the type string\nmessage: [] is not of the type string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record, err := stores.DefaultProgressStorage().Fetch(annotated("kopf.zalando.org/fn", test.value), "fn")
			if record != nil {
				t.Errorf("there is a record: %v", record)
			}
			wantCorrupted(t, err, place, test.want)
		})
	}
}

// Kopf takes such records: their values are what Python makes of them.
func TestProgressOfOtherTypesIsRead(t *testing.T) {
	tests := []struct{ given, want string }{
		{`{"success": "yes", "failure": 0}`, `{"success":true,"failure":false}`},
		{`{"success": [], "failure": {"x": 1}}`, `{"success":false,"failure":true}`},
		{`{"success": "", "failure": 0.5}`, `{"success":false,"failure":true}`},
		{`{"success": {}, "failure": [null]}`, `{"success":false,"failure":true}`},
		{`{"retries": 2.0, "purpose": 5, "message": true}`, `{"purpose":"5","retries":2,"message":"true"}`},
		{`{"retries": true}`, `{"retries":1}`},
		{`{"retries": false}`, `{"retries":0}`},
		{`{"retries": -1}`, `{"retries":-1}`},
		{`{"retries": 1.5}`, `{"retries":1}`},
	}
	for _, test := range tests {
		t.Run(test.given, func(t *testing.T) {
			record, err := stores.DefaultProgressStorage().Fetch(annotated("kopf.zalando.org/fn", test.given), "fn")
			must(t, err)
			if got := record.Encode(false); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestCorruptedStatusIsNamed(t *testing.T) {
	status := func(value any) stores.Object {
		return stores.Object{"status": stores.Object{"kopf": stores.Object{"progress": value, "last-handled-configuration": value}}}
	}
	progress := stores.NewStatusProgress(stores.StatusProgressOptions{})
	_, err := progress.Fetch(status("text"), "fn")
	wantCorrupted(t, err, "field status.kopf.progress", "must be an object of records")
	_, err = progress.Fetch(status(stores.Object{"fn": "text"}), "fn")
	wantCorrupted(t, err, "field status.kopf.progress.fn", "a record must be an object")

	diffBase := stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{})
	_, err = diffBase.Fetch(status(stores.Object{}))
	wantCorrupted(t, err, "field status.kopf.last-handled-configuration", "{} is not a string")
	_, err = diffBase.Fetch(status("[]"))
	wantCorrupted(t, err, "field status.kopf.last-handled-configuration", "an essence must be an object")
	_, err = diffBase.Fetch(status("{"))
	wantCorrupted(t, err, "field status.kopf.last-handled-configuration", "invalid JSON")
}

func TestCorruptedDiffBaseIsNamed(t *testing.T) {
	for _, value := range []any{"{", "5", "", stores.Object{}} {
		_, err := stores.DefaultDiffBaseStorage().Fetch(annotated("kopf.zalando.org/last-handled-configuration", value))
		wantCorrupted(t, err, "annotation kopf.zalando.org/last-handled-configuration", "")
	}
}

func wantCorrupted(t *testing.T, err error, place, want string) {
	t.Helper()
	var corrupted *stores.CorruptedError
	if !errors.As(err, &corrupted) || corrupted.Place != place || !strings.Contains(err.Error(), want) {
		t.Errorf("got the error %v, want %q in %s", err, want, place)
	}
}

// Users may write any value to any place of an object. Storages may refuse it, but must
// not panic.
func TestStrangeBodiesDoNotPanic(t *testing.T) {
	values := []any{nil, true, "text", []any{}, []any{nil, "x"}, stores.Object{}, stores.Object{"x": nil}}
	places := []dicts.Path{
		{"metadata"},
		{"metadata", "annotations"},
		{"metadata", "labels"},
		{"metadata", "ownerReferences"},
		{"kind"},
		{"spec"},
		{"status"},
		{"status", "kopf"},
		{"status", "kopf", "progress"},
		{"status", "kopf", "progress", "fn"},
	}
	progress := stores.MultiProgress{stores.DefaultProgressStorage(), stores.NewStatusProgress(stores.StatusProgressOptions{})}
	diffBase := stores.MultiDiffBase{stores.DefaultDiffBaseStorage(), stores.NewStatusDiffBase(stores.StatusDiffBaseOptions{})}
	for _, place := range places {
		for _, value := range values {
			strange := stores.Object{"kind": "ReplicaSet"}
			must(t, dicts.Ensure(strange, place, value))
			for _, body := range []stores.Object{strange, {}} {
				patch := &stores.Patch{}
				patch.Merge(strange)
				_, _ = progress.Fetch(body, "fn")
				_ = progress.Store("fn", stores.Record{}, body, patch)
				_ = progress.Touch(body, patch, nil)
				_ = progress.Purge("fn", body, patch)
				essence, err := diffBase.Build(body, []stores.Path{place, {"status", "kopf", "x"}})
				if err == nil {
					_, _ = progress.Clear(essence)
				}
				_, _ = progress.Clear(dicts.CloneObject(strange))
				_, _ = diffBase.Fetch(body)
				_ = diffBase.Store(body, patch, essence)
				_ = stores.CheckAnnotations(body, patch)
			}
		}
	}
}
