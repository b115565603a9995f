package objects

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/installation"
)

// TestRolesOfWatches: they have what the operators watch and their accounts may, by its
// namespace, and nothing else.
func TestRolesOfWatches(t *testing.T) {
	resources := `"status":{"resources":["things.v1.kopf.dev","pods.v1","nodes.v1","absent.v1.kopf.dev","x: [y].v1.kopf.dev"]}`
	list := func(items ...string) string {
		return `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[` + strings.Join(items, ",") + `]}`
	}
	pages := func(first string, rest ...string) string { return first + "|" + strings.Join(rest, ",") }
	operator := func(kind api.Kind, metadata, spec, status string) string {
		return `{"apiVersion":"hosting.kopf.dev/v1alpha1","kind":"` + string(kind) + `","metadata":{` + metadata + `},"spec":{"module":"m",` + spec + `},` + status + `}`
	}
	answers := map[string]string{
		"/apis/hosting.kopf.dev/v1alpha1/wasmoperators": pages(
			operator(api.Namespaced, `"name":"a","namespace":"ns1"`, `"serviceAccountName":"may"`, resources),
			operator(api.Namespaced, `"name":"b","namespace":"ns2"`, `"serviceAccountName":"may"`, `"status":{}`),
			operator(api.Namespaced, `"name":"c","namespace":"ns2"`, `"serviceAccountName":"not"`, resources)),
		"/apis/hosting.kopf.dev/v1alpha1/clusterwasmoperators": list(
			operator(api.Cluster, `"name":"d"`, `"serviceAccountName":"may","serviceAccountNamespace":"ns1","scope":{"namespaces":["ns*,!ns2"]}`, `"status":{"resources":["things.v1.kopf.dev"]}`)),
		"/api/v1/namespaces": pages(`{"metadata":{"name":"ns1"}}`, `{"metadata":{"name":"ns2"}}`, `{"metadata":{"name":"ns3"}}`),
		"/api/v1":            `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true},{"name":"nodes"}]}`,
		"/apis/kopf.dev/v1":  `{"kind":"APIResourceList","groupVersion":"kopf.dev/v1","resources":[{"name":"things","namespaced":true}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
			answer := answers[r.URL.Path]
			if first, rest, ok := strings.Cut(answer, "|"); ok && r.URL.Query().Get("limit") == "10" { // two pages
				if answer = list(rest); !r.URL.Query().Has("continue") {
					answer = strings.Replace(list(first), `"metadata":{`, `"metadata":{"continue":"c",`, 1)
				}
			}
			io.WriteString(w, answer)
			return
		}
		review := &unstructured.Unstructured{}
		if err := json.NewDecoder(r.Body).Decode(&review.Object); err != nil {
			t.Error(err)
		}
		user, _, _ := unstructured.NestedString(review.Object, "spec", "user")
		verb, _, _ := unstructured.NestedString(review.Object, "spec", "resourceAttributes", "verb")
		plural, _, _ := unstructured.NestedString(review.Object, "spec", "resourceAttributes", "resource")
		if err := unstructured.SetNestedField(review.Object, user == "system:serviceaccount:ns1:may" && (plural != "pods" || verb == "list"), "status", "allowed"); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(review.Object)
	}))
	t.Cleanup(server.Close)
	watches, err := Watches(t.Context(), Options{Config: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	text := installation.WatchRoles(watches)
	var rules []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "metadata: ") || strings.HasPrefix(line, "- {apiGroups") {
			rules = append(rules, strings.TrimSpace(line))
		}
	}
	const labels = `labels: {hosting.kopf.dev/watches: "true"}}`
	want := []string{
		"metadata: {name: kopf-serve-watches, " + labels, "metadata: {name: kopf-serve-watches, " + labels,
		`- {apiGroups: [""], resources: [nodes], verbs: [list, watch]}`,
		"metadata: {name: kopf-serve-watches, namespace: \"ns1\", " + labels, "metadata: {name: kopf-serve-watches, namespace: \"ns1\", " + labels,
		`- {apiGroups: ["kopf.dev"], resources: [things], verbs: [list, watch]}`,
		"metadata: {name: kopf-serve-watches, namespace: \"ns3\", " + labels, "metadata: {name: kopf-serve-watches, namespace: \"ns3\", " + labels,
		`- {apiGroups: ["kopf.dev"], resources: [things], verbs: [list, watch]}`,
	}
	if got := strings.Join(rules, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the rules are\n%s", got)
	}
	if strings.Contains(text, "*") {
		t.Error("a rule has a wildcard")
	}
}
