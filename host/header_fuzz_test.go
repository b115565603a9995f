package host

import (
	"encoding/json"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
)

// FuzzHeader: a header means what the standard library would have written, whatever is in its texts and numbers. The host does not
// check most of them: they come from objects, clients of webhooks and modules.
func FuzzHeader(f *testing.F) {
	f.Add("a\"\\\x00\x1f\x7f", "\u2028\u2029<>&", "\xff\xed\xa0\x80", "😀\ufffd\u0085", `{"a": [1]}`, 1e21, int64(-1), true)
	f.Add("", "", "", "", `"x"`, 5e-324, int64(1)<<62, false)
	f.Fuzz(func(t *testing.T, a, b, c, d, raw string, number float64, whole int64, flag bool) {
		if !json.Valid([]byte(raw)) {
			raw = "null"
		}
		inv := &abi.Invocation{
			Handler: int(whole), Parent: uint32(whole), Kind: abi.Kind(a), ID: b, Param: abi.Raw(raw), Retry: int(whole), Started: c, Runtime: number,
			Resource: &abi.ResourceInfo{Group: a, Version: b, Plural: c, Kind: d, Shortcuts: []string{a, b}, Verbs: []string{c, d}, Namespaced: flag},
			Name:     a, Namespace: b, UID: c, Reason: d, Field: []string{a, d}, EventType: &b, Activity: c,
			Admission: &abi.Admission{Operation: a, Subresource: b, DryRun: flag, UserInfo: abi.Raw(raw), Headers: map[string][]string{a: {b, c}, d: {}}, SSLPeer: abi.Raw(raw)},
			Indices:   []string{b, d},
		}
		want, wantErr := json.Marshal(inv)
		got, err := headerOf(inv)
		if err != nil || wantErr != nil {
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%v, want %v", err, wantErr)
			}
			return
		}
		sameMeaning(t, want, got)
	})
}
