package webhooks_test

import (
	"encoding/json"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/webhooks"
)

// TestCodes: those that no answer of HTTP can have would hide the message from the user.
func TestCodes(t *testing.T) {
	for code, want := range map[int]int{0: 500, -5: -5, 422: 422, 999: 999, 1000: 500, 1 << 40: 500} {
		text, err := webhooks.Respond(webhooks.Request{UID: "u"}, []*abi.Error{{Kind: abi.ErrorAdmission, Message: "no", Code: code}}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Response struct {
				Status struct {
					Code    int
					Message string
				}
			}
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
		if got := answer.Response.Status; got.Code != want || got.Message != "no" {
			t.Errorf("%d: %+v, want the code %d", code, got, want)
		}
	}
}

// TestAllowed: a request that is allowed as it is has the answer of every other one, without the
// parts of failures, warnings and patches.
func TestAllowed(t *testing.T) {
	for _, tt := range []struct {
		request webhooks.Request
		want    string
	}{
		{webhooks.Request{UID: "u"}, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":"u"}}`},
		{webhooks.Request{APIVersion: "v", Kind: "k"}, `{"apiVersion":"v","kind":"k","response":{"allowed":true,"uid":""}}`},
		{webhooks.Request{UID: "\"ä\n"}, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":"\"\u00e4\n"}}`},
	} {
		if text, err := webhooks.Respond(tt.request, nil, nil, nil); err != nil || string(text) != tt.want {
			t.Errorf("%+v: %s, %v; want %s", tt.request, text, err, tt.want)
		}
	}
}
