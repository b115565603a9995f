package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/operator"
)

// refusal wants an error of the API server with this code and this text.
func refusal(t *testing.T, err error, code int32, text string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("got %v, want a refusal", err)
	}
	if got := status.Status(); got.Code != code || !strings.Contains(got.Message, text) {
		t.Errorf("refused with %d: %s\nwant %d: %s", got.Code, got.Message, code, text)
	}
}

// TestReviewsThroughTheAPIServer: what handlers do is what users see.
func TestReviewsThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check"}})
	for _, tt := range []struct {
		name, do string
		code     int32
		text     string
	}{
		{"denied", "deny", 422, `admission webhook "check.` + w.managedName() + `" denied the request: the widget is bad`},
		{"permanent", "permanent", 500, "denied the request: never"},
		{"temporary", "temporary", 500, "denied the request: not now"},
		{"arbitrary", "arbitrary", 500, "denied the request: something is wrong"},
		{"a panic", "panic", 500, "the widget wants a panic"},
		{"a patch that does not fit", "misfit", 500, "the patch does not fit the object"},
		{"a patch of a validation", "mutate", 500, "denied the request: a validating handler cannot change the object, but it has a patch for it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := tt.do
			_, err := w.make(t, name, "{do: "+tt.do+"}")
			refusal(t, err, tt.code, tt.text)
			if _, err := w.client().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the object is there: %v", err)
			}
		})
	}
	t.Run("allowed", func(t *testing.T) {
		if _, err := w.make(t, "allowed", "{}"); err != nil {
			t.Error(err)
		}
	})
}

func TestReviewsMutate(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check fill"}})
	made, err := w.make(t, "w", "{do: fill, list: [given]}")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"do": "fill", "filled": true, "list": []any{"given", "edited"}}
	if diff := cmp.Diff(want, made.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if got := made.GetLabels()["filled"]; got != "yes" {
		t.Errorf("the label is %q", got)
	}
	if len(made.GetAnnotations()) > 0 || len(made.GetFinalizers()) > 0 {
		t.Errorf("state is stored: %v", made.Object["metadata"])
	}
}

// warned collects the warnings of responses.
type warned struct {
	mu   sync.Mutex
	list []string
}

func (w *warned) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

// warnedClient is a client of widgets that collects warnings.
func (w widgets) warnedClient(t *testing.T) (dynamic.ResourceInterface, *warned) {
	t.Helper()
	config, seen := w.RESTConfig(), &warned{}
	config.WarningHandler = seen
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return w.of(client), seen
}

func TestReviewsWarn(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{})
	client, seen := w.warnedClient(t)
	if _, err := client.Create(t.Context(), w.widget(t, "w", "{do: warn}"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"be careful", "and think twice"}; !slices.Equal(seen.list[:2], want) {
		t.Errorf("warnings %q, want %q", seen.list, want)
	}
}

// TestReviewsKwargs: the arguments of admission handlers.
func TestReviewsKwargs(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check names"}})
	if _, err := w.make(t, "w", "{size: 1}"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the object is indexed", func() bool {
		if _, err := w.client().Patch(t.Context(), "w", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{DryRun: []string{"All"}}); err != nil {
			t.Fatal(err)
		}
		list := w.reviews(t, "w")
		return slices.Contains(list[len(list)-1].Indexed, "w")
	})
	if err := w.client().Delete(t.Context(), "w", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	list := w.reviews(t, "w")
	first, second, last := list[0], list[1], list[len(list)-1]
	if first.Operation != "CREATE" || first.DryRun || first.Old != nil || first.New["size"] != 1.0 || first.Memo != 1 || first.User != "admin" {
		t.Errorf("the creation: %+v", first)
	}
	if second.Operation != "UPDATE" || !second.DryRun || second.Old["size"] != 1.0 || second.New["size"] != 2.0 || second.Changes == 0 {
		t.Errorf("the update: %+v", second)
	}
	if last.Operation != "DELETE" || last.New != nil || last.Old["size"] != 1.0 {
		t.Errorf("the deletion: %+v", last)
	}
	if got, want := last.Memo, len(list)-1; got != want {
		t.Errorf("the memo of the object has counted %d reviews, want %d: all but the creation", got, want)
	}
	if len(first.Agent) != 1 || !strings.Contains(first.Agent[0], "kube-apiserver") || first.Resource != "widgets" {
		t.Errorf("the headers and the resource: %+v", first)
	}
}

// handlersOf are the handlers that were called for an object, each once.
func (w widgets) handlersOf(t *testing.T, name string) []string {
	t.Helper()
	var ids []string
	for _, r := range w.reviews(t, name) {
		ids = append(ids, r.Handler)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestReviewsAreFiltered(t *testing.T) {
	t.Parallel()
	w := newSpace(t).admit(t, options{config: map[string]string{"handlers": "check labelled annotated picky scaled sized effects"}})
	object := w.widget(t, "all", "{picked: true, size: 5}")
	object.SetLabels(map[string]string{"reviewed": "so"})
	object.SetAnnotations(map[string]string{"reviewed": "yes"})
	if _, err := w.client().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.make(t, "none", "{picked: false, size: 4}"); err != nil {
		t.Fatal(err)
	}
	if want, got := []string{"annotated", "check", "labelled", "picky", "sized/spec.size"}, w.handlersOf(t, "all"); !slices.Equal(got, want) {
		t.Errorf("handlers %v, want %v", got, want)
	}
	if want, got := []string{"check"}, w.handlersOf(t, "none"); !slices.Equal(got, want) {
		t.Errorf("handlers %v, want %v", got, want)
	}
	if _, err := w.client().Patch(t.Context(), "none", types.MergePatchType, []byte(`{"status":{"x":1}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if err := w.client().Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if want, got := []string{"check", "effects", "scaled"}, w.handlersOf(t, "none"); !slices.Equal(got, want) {
		t.Errorf("handlers after a status and a deletion: %v, want %v", got, want)
	}
}

// TestAutomaticServer: what the cluster is like is found out of the real API server, and
// this one has no name for this machine.
func TestAutomaticServer(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	server := json.RawMessage(`{"type": "auto-server", "addr": "127.0.0.1"}`)
	w := s.admit(t, options{admits: operator.Admission{Server: server, Managed: s.managedName()}})
	if _, err := w.make(t, "bad", "{do: deny}"); err == nil {
		t.Error("a bad widget is allowed")
	}
	if found := w.log.With("Cluster detection failed."); len(found) != 1 {
		t.Errorf("detected %d times", len(found))
	}
}

// TestConfigurationsLiveWithTheOperator: only persistent webhooks stay.
func TestConfigurationsLiveWithTheOperator(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	w := s.admit(t, options{config: map[string]string{"handlers": "check fill kept"}})
	suffix := "." + s.managedName()
	if want, got := []string{"check" + suffix, "kept" + suffix}, s.configured(t, validatingConfigurations); !slices.Equal(got, want) {
		t.Errorf("validating: %v, want %v", got, want)
	}
	if want, got := []string{"fill" + suffix}, s.configured(t, mutatingConfigurations); !slices.Equal(got, want) {
		t.Errorf("mutating: %v, want %v", got, want)
	}
	w.stop(t)
	if want, got := []string{"kept" + suffix}, s.configured(t, validatingConfigurations); !slices.Equal(got, want) {
		t.Errorf("validating after the exit: %v, want %v", got, want)
	}
	if got := s.configured(t, mutatingConfigurations); len(got) > 0 {
		t.Errorf("mutating after the exit: %v", got)
	}
	w.eventually(t, func() error { // the kept webhook cannot be reached, but it lets failures pass
		_, err := w.make(t, "after", "{do: deny}")
		return err
	})
}

// TestConfigurationsFollowTheResources: a resource that appears is added.
func TestConfigurationsFollowTheResources(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	o := s.admission(t, options{})
	definition := "widgets." + o.config["group"]
	definitions := s.Resource(t, definitionKind, "")
	object, err := definitions.Get(t.Context(), definition, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := definitions.Delete(t.Context(), definition, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, func() error {
		_, err := definitions.Get(t.Context(), definition, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
	w := widgets{s.start(t, o), o.config["group"]}
	w.until(t, "there are webhooks without rules", func() bool { return s.rules(t) == 0 && len(s.configured(t, validatingConfigurations)) == 1 })
	object.SetResourceVersion("")
	object.SetUID("")
	unstructured.RemoveNestedField(object.Object, "status")
	if _, err := definitions.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the webhook has a rule", func() bool { return s.rules(t) == 1 })
	w.asked(t)
}

var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// rules counts the rules of the first validating webhook; -1 if there is none.
func (s space) rules(t *testing.T) int {
	t.Helper()
	object, err := s.Dynamic().Resource(validatingConfigurations).Get(t.Context(), s.managedName(), metav1.GetOptions{})
	if err != nil {
		return -1
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	if len(list) == 0 {
		return -1
	}
	rules, _ := list[0].(map[string]any)["rules"].([]any)
	return len(rules)
}

const readerRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s-reader}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s-reader}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[1]s-reader}]
`

// TestAdmissionWithoutRights: an operator that may not make its configurations says so.
func TestAdmissionWithoutRights(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.Apply(t, fmt.Sprintf(readerRole, s.namespace))
	o := s.admission(t, options{settings: throttled})
	o.rest = s.RESTConfig()
	o.rest.Impersonate.UserName = s.namespace + "-reader"
	r, _ := s.launch(t, o)
	<-r.ended
	if r.err == nil || !strings.Contains(r.err.Error(), "there are no rights to create validatingwebhookconfigurations") {
		t.Errorf("the operator has ended with %v", r.err)
	}
}
