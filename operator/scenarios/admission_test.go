package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/crossings"
	"github.com/kopf-wasm/kopf/operator/guesttest"
)

// refusal is the last step of an admission handler that refuses.
func refusal(message string, code int) *abi.Step {
	return guesttest.Done(abi.Outcome{Error: &abi.Error{Kind: abi.ErrorAdmission, Message: message, Code: code}})
}

// spec is the spec of the object that a handler is called for.
func spec(c *guesttest.Call) dicts.Object {
	body, err := dicts.DecodeObject(c.Body)
	if err != nil {
		return nil
	}
	return dicts.LookupObject(body, "spec")
}

// reviewer is an operator that sets the field of new objects, and checks it.
func reviewer() *guesttest.Guest {
	return &guesttest.Guest{
		Handlers: []abi.Handler{
			guesttest.Declared(abi.KindMutate, "fill-in", `{"operations":["CREATE"]}`),
			guesttest.Declared(abi.KindValidate, "check", `{"operations":["CREATE","UPDATE"]}`),
			guesttest.Declared(abi.KindValidate, "keep", `{"operations":["DELETE"],"labels":{"protected":"yes"}}`),
			guesttest.Declared(abi.KindCreate, "create_fn", ""),
		},
		Do: map[string]guesttest.Handler{
			"fill-in": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
				if spec(c)["field"] != nil {
					return guesttest.Done(abi.Outcome{})
				}
				return guesttest.Patch(`{"spec":{"field":"filled"}}`)
			},
			"check": func(c *guesttest.Call, _ *abi.Answer) *abi.Step {
				if spec(c)["field"] == "bad" {
					return refusal("the field is bad", 422)
				}
				text := fmt.Sprintf("%s by %s, dry run: %v", c.Admission.Operation, dicts.LookupString(crossings.Decoded(c.Admission.UserInfo), "username"), c.Admission.DryRun)
				return guesttest.Done(abi.Outcome{Warnings: []string{text}})
			},
			"keep": func(c *guesttest.Call, _ *abi.Answer) *abi.Step { return guesttest.Permanent("it is protected") },
		},
	}
}

func TestRequestsOfStepsAreReviewed(t *testing.T) {
	shows(t, "ok   op_test.yaml: reviews (9 calls, 8s in 0s)\n", results(t, reviewer(), `
scenarios:
- name: reviews
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a, labels: {protected: "yes"}}, spec: {}}
    returns: {spec: {field: filled}}
    warnings: ["CREATE by kubernetes-admin, dry run: false"]
  - expect:
      calls: {fill-in: 1, create_fn: 1}
      objects: {kind: KopfExample, metadata: {name: a}, spec: {field: filled}}
  - change: {kind: KopfExample, metadata: {name: a}, spec: {field: bad}}
    user: {username: eve, groups: [people]}
    denied: {message: 'admission webhook "check.kopf.test" denied the request: the field is bad', code: 422}
  - expect: {calls: [check], objects: {kind: KopfExample, metadata: {name: a}, spec: {field: filled}}}
  - change: {kind: KopfExample, metadata: {name: a}, spec: {field: dry}}
    dryRun: true
    user: eve
    warnings: ["UPDATE by eve, dry run: true"]
    returns: {spec: {field: dry}}
  - expect: {objects: {kind: KopfExample, metadata: {name: a}, spec: {field: filled}}}
  - delete: KopfExample/a
    denied: it is protected
  - change: {kind: KopfExample, metadata: {name: a, labels: {protected: null}}}
  - delete: KopfExample/a
    warnings: []
  - expect: {calls: {keep: 1}, absent: KopfExample/a}
`))
}

func TestUnexpectedAnswersOfReviewsAreShown(t *testing.T) {
	shows(t, `FAIL op_test.yaml: denied (2 calls, 3s in 0s)
  op_test.yaml:5:12: admission webhook "check.kopf.test" denied the request: the field is bad
FAIL op_test.yaml: accepted (4 calls, 3s in 0s)
  op_test.yaml:9:13: denied
    - it is bad
    + accepted
FAIL op_test.yaml: another code (2 calls, 3s in 0s)
  op_test.yaml:13:13: denied
    - 403: the field is bad
    + 422: admission webhook "check.kopf.test" denied the request: the field is bad
FAIL op_test.yaml: warnings (4 calls, 3s in 0s)
  op_test.yaml:17:15: warnings
    + CREATE by kubernetes-admin, dry run: false
FAIL op_test.yaml: returns (4 calls, 3s in 0s)
  op_test.yaml:21:14: the returned object
    - spec.field: "x"
    + spec.field: "filled"
`, results(t, reviewer(), `
scenarios:
- name: denied
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {field: bad}}
- name: accepted
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {}}
    denied: it is bad
- name: another code
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {field: bad}}
    denied: {message: the field is bad, code: 403}
- name: warnings
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {}}
    warnings: []
- name: returns
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {}}
    returns: {spec: {field: x}}
`))
}

// TestRequestsOfHandlersAreReviewed shows that the objects of handlers pass the webhooks of the
// operator, and that its own patches do.
func TestRequestsOfHandlersAreReviewed(t *testing.T) {
	guest := reviewer()
	guest.Do["create_fn"] = func(c *guesttest.Call, answer *abi.Answer) *abi.Step {
		switch {
		case c.Invocation.Name != "a":
			return guesttest.Done(abi.Outcome{})
		case answer == nil:
			return &abi.Step{Step: abi.StepCall, Call: &abi.Call{
				Target: abi.TargetKubernetes, Method: "POST", Path: "/apis/kopf.dev/v1/namespaces/default/kopfexamples",
				Body: abi.Raw(`{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"child"},"spec":{"field":"bad"}}`),
			}}
		}
		return guesttest.Result(fmt.Sprint(answer.Response.Status))
	}
	shows(t, "ok   op_test.yaml: children (6 calls, 3s in 0s)\n", results(t, guest, `
allow: create:kopfexamples.kopf.dev
scenarios:
- name: children
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {field: good}}
  - expect:
      calls: {check: 3, create_fn: 1}
      requests: [{request: POST /apis/kopf.dev/v1/namespaces/default/kopfexamples, status: 422}]
      absent: KopfExample/child
`))
}

func TestWebhooksComeBackAfterARestart(t *testing.T) {
	shows(t, "ok   op_test.yaml: restart (2 calls, 5s in 0s)\n", results(t, reviewer(), `
scenarios:
- name: restart
  steps:
  - restart: now
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {field: bad}}
    denied: the field is bad
`))
}

// TestSlowReviewsFail: the deadline of a review is on the simulated clock.
func TestSlowReviewsFail(t *testing.T) {
	guest := reviewer()
	guest.Do["check"] = func(_ *guesttest.Call, answer *abi.Answer) *abi.Step {
		if answer == nil {
			return guesttest.Wait(60)
		}
		return guesttest.Done(abi.Outcome{})
	}
	text := results(t, guest, `
scenarios:
- name: slow
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {field: good}}
    denied: {message: 'failed calling webhook "check.kopf.test"', code: 500}
  - expect: {absent: KopfExample/a}
`)
	if !strings.HasPrefix(text, "ok   op_test.yaml: slow (") {
		t.Error(text)
	}
}

// TestOperatorsThatConvertStart: their definitions are not in the simulated cluster.
func TestOperatorsThatConvertStart(t *testing.T) {
	guest := &guesttest.Guest{Handlers: []abi.Handler{
		guesttest.Declared(abi.KindConvert, "convert", `{"from":"v1","to":"v2"}`), guesttest.Declared(abi.KindCreate, "create_fn", ""),
	}}
	shows(t, "ok   op_test.yaml: start (1 call, 3s in 0s)\n", results(t, guest, "scenarios:\n- {name: start, steps: [apply: "+object+", expect: {calls: [create_fn]}]}\n"))
}

func TestMistakesInMannersHavePlaces(t *testing.T) {
	object := "{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}}"
	tests := []struct{ name, text, want string }{
		{"no request", "advance: 1d\n    denied: x", `:5:13: "denied" in a step "advance", which sends no request: it is for apply, change, delete`},
		{"several requests", "apply: [" + object + ", " + object + "]\n    denied: x", `:5:13: "denied" in a step with 2 requests: write each request as a step of its own`},
		{"a user", "apply: " + object + "\n    user: {name: eve}", `:5:12: unknown key "name"`},
		{"a dry run", "apply: " + object + "\n    dryRun: perhaps", `:5:13: "perhaps" where true or false is expected`},
		{"a code", "apply: " + object + "\n    denied: {code: x}", `:5:20: "x" where a whole number is expected`},
		{"a key", "apply: " + object + "\n    denid: x", `:5:5: unknown key "denid": did you mean denied?`},
		{"only manners", "denied: x", ":4:5: a step with 0 actions: write each as an item of its own"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "op_test.yaml")
			if err := os.WriteFile(path, []byte("scenarios:\n- name: x\n  steps:\n  - "+tt.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+tt.want) {
				t.Errorf("error = %v\nwant    %s", err, path+tt.want)
			}
		})
	}
}

func TestUnknownSubresourcesAreNamed(t *testing.T) {
	shows(t, `FAIL op_test.yaml: status (4 calls, 4s in 0s)
  op_test.yaml:6:13: kopfexamples have no subresource "status": name the file with their definition in definitions
`, results(t, reviewer(), `
scenarios:
- name: status
  steps:
  - apply: {apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {field: good}}
  - change: {kind: KopfExample, metadata: {name: a}, status: {x: 1}}
    subresource: status
`))
}
