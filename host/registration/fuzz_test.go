package registration

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse feeds documents that may be anything. What is accepted must be
// accepted again after a round trip, and mean the same.
func FuzzParse(f *testing.F) {
	for _, document := range []string{
		`{}`, `{"error":"x"}`, `{"handlers":[null]}`, `{"handlers":[{"kind":1}]}`,
		of(pods("update", `"field":["a"],"old":{"$":"ABSENT"},"labels":{"a":"b"}`)),
		of(pods("timer", `"initial_delay":{"$":"FUNCTION"},"interval":1e3`), pods("daemon", `"fn":"x"`)),
		of(pods("validate", `"operations":["CREATE"]`), `{"kind":"convert","id":"c","resource":{"function":true},"from":"a","to":"b"}`),
		on(`{"args":["",{"$":"EVERYTHING"}]}`), `{"lifecycle":"asap","handlers":[{"kind":"sub","id":"é"}]}`,
	} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		first, err := Parse(document)
		if err != nil {
			if !errors.Is(err, ErrRegistration) {
				t.Errorf("error without its kind: %v", err)
			}
			return
		}
		again, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Parse(again)
		if err != nil {
			t.Fatalf("%s\nis refused: %v", again, err)
		}
		third, err := json.Marshal(second)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(again), string(third)); diff != "" {
			t.Error(diff)
		}
	})
}
