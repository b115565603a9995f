package watching

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a stream keeps of an object is what its deletion needs.
func TestRecordsKeepIdentities(t *testing.T) {
	for name, m := range map[string]Meta{
		"usual":         {UID: "5f0c", Name: "a", Namespace: "ns", ResourceVersion: "17"},
		"clusterwide":   {UID: "5f0c", Name: "a", ResourceVersion: "17"},
		"without a uid": {Name: "a", Namespace: "ns", ResourceVersion: "17", CreationTimestamp: "2020-01-01T00:00:00Z"},
		"long":          {UID: "5f0c", Name: strings.Repeat("a", 300), Namespace: strings.Repeat("n", 128), ResourceVersion: strings.Repeat("1", 200)},
		"odd":           {UID: "\x00", Name: "\x00\x01", Namespace: "//", ResourceVersion: "\xff"},
		"empty":         {},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(m, newRecord(m).meta(m.Key())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	m := Meta{UID: "5f0c", Name: "a", CreationTimestamp: "2020-01-01T00:00:00Z"}
	if got := newRecord(m).meta(m.Key()); got.CreationTimestamp != "" || got.Key() != m.Key() {
		t.Errorf("got %+v, want no time, which no key needs", got)
	}
}
