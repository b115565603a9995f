package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stripAnnotations registers a webhook of another program, which removes all annotations of
// operators from the objects with the label `stripped`, at each request that changes them.
func (s space) stripAnnotations(t *testing.T) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID    string
				Object unstructured.Unstructured
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Errorf("a review: %v", err)
			return
		}
		operations := []map[string]string{}
		for key := range review.Request.Object.GetAnnotations() {
			if strings.HasPrefix(key, progressOf) {
				operations = append(operations, map[string]string{"op": "remove", "path": "/metadata/annotations/" + strings.ReplaceAll(key, "/", "~1")})
			}
		}
		patch, err := json.Marshal(operations)
		if err != nil {
			t.Error(err)
		}
		answer := map[string]any{"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": patch} // in Base64
		if err := json.NewEncoder(w).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	name := "stripping." + s.namespace + ".example.com"
	s.Apply(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: %[1]s
  clientConfig: {url: %[2]q, caBundle: %[3]q}
  rules: [{apiGroups: [kopf.dev], apiVersions: [v1], resources: [kopfexamples], operations: [CREATE, UPDATE]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[4]s}}
  objectSelector: {matchExpressions: [{key: stripped, operator: Exists}]}
  sideEffects: None
  admissionReviewVersions: [v1]
`, name, server.URL, base64.StdEncoding.EncodeToString(authority), s.namespace))
	t.Cleanup(func() {
		if err := s.Dynamic().Resource(mutatingConfigurations).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	s.until(t, "the webhook is asked", func() bool {
		s.ApplyIn(t, s.namespace, `{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: probe, labels: {stripped: "", unhandled: ""}, annotations: {`+progressOf+`probe: x}}}`)
		return len(s.get(t, "probe").GetAnnotations()) == 0
	})
}

// TestAnnotationsThatAreAlwaysRemoved: an object that loses the operator's annotations at each
// change is new at each change. It is handled as such three times more, and then no more until
// it really changes; the log says why. Other objects do not notice.
func TestAnnotationsThatAreAlwaysRemoved(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.stripAnnotations(t)
	op := s.start(t, options{config: map[string]string{"label": "handled"}})
	apply := func(name, labels, spec string) {
		t.Helper()
		s.ApplyIn(t, s.namespace, fmt.Sprintf(`{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: %s, labels: {handled: "", %s}}, spec: %s}`, name, labels, spec))
	}
	const warning = "Another client keeps removing the last-handled state of the object."
	apply("stripped", `stripped: ""`, "{field: one}")
	op.called(t, "stripped", 1)
	op.says(t, "stripped", "Merge-patching finished with inconsistencies: ")
	for n := range 3 { // the status is not of the essence
		s.patch(t, "stripped", fmt.Sprintf(`{"status":{"n":%d}}`, n))
		op.called(t, "stripped", n+2)
	}
	s.patch(t, "stripped", `{"status":{"n":"enough"}}`)
	op.says(t, "stripped", warning)
	s.patch(t, "stripped", `{"status":{"n":"more than enough"}}`)

	apply("neighbour", `other: ""`, "{field: one}")
	s.handled(t, "neighbour")
	s.patch(t, "neighbour", `{"status":{"n":1}}`)
	s.patch(t, "neighbour", `{"spec":{"field":"two"}}`)
	if calls := op.called(t, "neighbour", 2); calls[1].Reason != "update" {
		t.Errorf("the neighbour: %+v", calls)
	}

	s.patch(t, "stripped", `{"spec":{"field":"two"}}`)
	calls := op.called(t, "stripped", 5)
	if annotations := s.get(t, "stripped").GetAnnotations(); len(annotations) > 0 {
		t.Errorf("the annotations are not removed: %v", annotations)
	}
	for i, c := range calls {
		want := any(specOnly(map[string]any{"field": "one"}))
		if i == 4 {
			want = specOnly(map[string]any{"field": "two"})
		}
		if c.Reason != "create" || c.Retry != 0 || fmt.Sprint(fieldOf(c.New)) != fmt.Sprint(fieldOf(want)) || len(calls) != 5 {
			t.Errorf("call %d of %d: %+v", i+1, len(calls), c)
		}
	}
	// Nor is a handler called for ever whose progress is removed.
	apply("retried", `stripped: ""`, "{do: temporary, seconds: 3600}")
	op.says(t, "retried", warning)
	s.patch(t, "retried", `{"status":{"n":1}}`)
	s.patch(t, "retried", `{"spec":{"do":null}}`)
	op.says(t, "retried", "Creation is processed: 1 succeeded; 0 failed.")
	if calls := op.stdout.callsFor(t, "retried"); len(calls) != 5 {
		t.Errorf("%d calls of a handler that is to be retried in an hour, want 4, and one after the change", len(calls))
	}
	for _, name := range []string{"stripped", "retried"} {
		said := 0
		for _, m := range op.messages(name) {
			if strings.Contains(m, warning) {
				said++
			}
		}
		if said != 1 {
			t.Errorf("the warning about %s is said %d times", name, said)
		}
	}
}

// fieldOf is spec.field of an essence.
func fieldOf(essence any) any {
	object, _ := essence.(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	return spec["field"]
}
