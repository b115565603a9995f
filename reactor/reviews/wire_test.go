package reviews

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFast checks that the fast decoder and the slow one return equal results.
func TestFast(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		fast       bool
	}{
		{"whole", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"kind":"K"},
			"resource":{"group":"g","version":"v","resource":"r","x":{"group":"y"}},"requestResource":{"group":"x"},"subResource":"status","name":"n",
			"operation":"UPDATE","userInfo":{"username":"me"},"object":{"uid":"other","request":1},"oldObject":{},"dryRun":true,"options":null}}`, true},
		{"nulls", `{"apiVersion":null,"request":{"uid":null,"dryRun":null,"object":null,"resource":{"group":null}}}`, true},
		{"the request first", `{"request":{"resource":{}},"kind":"AdmissionReview"}`, true},
		{"escapes", `{"k\u0069nd":"Admission\u0052eview","request":{"u\u0069d":"a\/b\"","resource":{}}}`, true},
		{"twice", `{"kind":"a","kind":"b","request":{"dryRun":true,"dryRun":false}}`, true},
		{"no request", `{"kind":"AdmissionReview"}`, true},
		{"a request that is not an object", `{"request":[]}`, false},
		{"a null request", `{"request":null}`, false},
		{"a mistyped text", `{"request":{"uid":5}}`, false},
		{"a mistyped flag", `{"request":{"dryRun":"yes"}}`, false},
		{"a mistyped resource", `{"request":{"resource":"pods"}}`, false},
		{"a mistyped part of it", `{"request":{"resource":{"group":1}}}`, false},
		{"not UTF-8", "{\"kind\":\"\xff\"}", false},
		{"cut", `{"request":{"uid":"u"`, false},
		{"more behind", `{"request":{}}}`, false},
		{"empty", ``, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := fast([]byte(tt.text))
			if ok != tt.fast {
				t.Fatalf("read fast: %t, want %t", ok, tt.fast)
			}
			var want wire
			if err := decodeObject([]byte(tt.text), &want); ok && (err != nil || !cmp.Equal(want, got)) {
				t.Errorf("error %v (-want +got):\n%s", err, cmp.Diff(want, got))
			}
		})
	}
}
