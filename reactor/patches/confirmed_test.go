package patches

import (
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

var confirmations = []struct {
	patch, answer string
	version       string
	ok            bool
}{
	{`{"status":{"field":"value"}}`, `{"metadata":{"resourceVersion":"7"},"status":{"field":"value","other":1}}`, "7", true},
	{`{}`, `{"metadata":{"name":"n","resourceVersion":"7"}}`, "7", true},
	{`{"metadata":{"annotations":{"a":"{\"b\":\"<c>\\n\"}\n"}}}`, `{"metadata":{"annotations":{"a":"{\"b\":\"\u003cc\u003e\\n\"}\n","x":"y"},"resourceVersion":"7"}}`, "7", true},
	{`{"spec":{"list":[1,{"a":null}],"number":1.5,"on":true,"gone":null,"empty":{}}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"list":[1,{"a":null}],"number":1.5,"on":true,"empty":{"x":1}}}`, "7", true},
	{`{"spec":{"number":1}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"number":1.0}}`, "7", false}, // they are equal, but that is not certain
	{`{"spec":{"a":"b"}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"a":"c"}}`, "7", false},
	{`{"spec":{"a":"b"}}`, `{"metadata":{"resourceVersion":"7"},"spec":{}}`, "7", false},
	{`{"spec":{"a":"b"}}`, `{"metadata":{"resourceVersion":"7"},"spec":"ab"}`, "7", false},
	{`{"spec":{"a":null}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"a":"c"}}`, "7", false},
	{`{"spec":{"a":"x","b":"y"}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"a":"x","a":"x"}}`, "7", false},
	{`{"metadata":"x"}`, `{"metadata":{"resourceVersion":"7"}}`, "", false},
	{`{}`, `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","resourceVersion":"7"}}`, "7", false},
	{`{}`, `{"metadata":{"resourceVersion":7}}`, "", false},
	{`{}`, `{"metadata":{"resourceVersion":"\u0037"}}`, "", false},
	{`{}`, `{"metadata":{}}`, "", false},
	{`{}`, `{"metadata":{"resourceVersion":"7"}} x`, "7", false},
	{`{}`, `[]`, "", false},
	{`{}`, ``, "", false},
}

func TestConfirmedAnswers(t *testing.T) {
	for _, tt := range confirmations {
		patch, err := dicts.DecodeObject([]byte(tt.patch))
		if err != nil {
			t.Fatal(err)
		}
		if version, ok := Confirmed(patch, []byte(tt.answer)); ok != tt.ok || ok && version != tt.version {
			t.Errorf("%s in %s: got %q, %t", tt.patch, tt.answer, version, ok)
		}
	}
}

// FuzzConfirmed checks that confirmed answers have no inconsistencies when they are decoded.
func FuzzConfirmed(f *testing.F) {
	for _, tt := range confirmations {
		f.Add([]byte(tt.patch), []byte(tt.answer))
		f.Add([]byte(tt.answer), []byte(tt.answer))
	}
	f.Fuzz(func(t *testing.T, rawPatch, answer []byte) {
		patch, err := dicts.DecodeObject(rawPatch)
		if err != nil {
			return
		}
		version, ok := Confirmed(patch, answer)
		if !ok {
			return
		}
		result, err := dicts.DecodeObject(answer)
		if err != nil {
			t.Fatal(err)
		}
		if lost := Inconsistencies(patch, result); len(lost) > 0 {
			t.Errorf("%v is missing", lost)
		}
		if known := dicts.LookupString(result, "metadata", "resourceVersion"); known != version {
			t.Errorf("got the version %q, want %q", version, known)
		}
		if _, deleted := dicts.Lookup(result, "metadata", "deletionTimestamp"); deleted {
			t.Error("the object is being deleted")
		}
	})
}
