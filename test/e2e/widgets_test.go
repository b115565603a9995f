package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// validatingConfigurations and mutatingConfigurations are where webhooks are.
var (
	validatingConfigurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	mutatingConfigurations   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
)

const widgetsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// widgets are objects of a kind that only one test has, reviewed by an operator of
// the guest "admission": webhooks are of the whole cluster.
type widgets struct {
	*running
	group string
}

// localServer listens where the API server of a test can reach it.
var localServer = json.RawMessage(`{"type": "server", "addr": "127.0.0.1"}`)

func (s space) managedName() string { return s.namespace + ".hooks.example.com" }

// admission are options of an operator for the widgets of the test. Unless they
// say otherwise, its webhooks are managed.
func (s space) admission(t *testing.T, o options) options {
	t.Helper()
	group := s.namespace + ".example.com"
	s.Apply(t, fmt.Sprintf(widgetsDefinition, group))
	o.guest = "admission"
	config := map[string]string{"group": group}
	for key, value := range o.config {
		config[key] = value
	}
	o.config = config
	if o.admits.Server == nil && o.admits.Custom == nil && config["settings"] == "" {
		o.admits.Server, o.admits.Managed = localServer, s.managedName()
	}
	s.forgetConfigurations(t)
	return o
}

// forgetConfigurations deletes the configurations of the test at its end.
func (s space) forgetConfigurations(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		for _, resource := range []schema.GroupVersionResource{validatingConfigurations, mutatingConfigurations} {
			err := s.Dynamic().Resource(resource).Delete(context.WithoutCancel(t.Context()), s.managedName(), metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	})
}

// admit starts an operator and waits until the API server asks it.
func (s space) admit(t *testing.T, o options) widgets {
	t.Helper()
	o = s.admission(t, o)
	w := widgets{s.start(t, o), o.config["group"]}
	if !o.noProbe {
		w.asked(t)
	}
	return w
}

// asked waits until the API server asks for all operations.
func (w widgets) asked(t *testing.T) {
	t.Helper()
	w.eventually(t, func() error {
		if err := w.try(t.Context(), "probe"); err != nil {
			return err
		}
		if len(w.reviews(t, "probe")) == 0 {
			return errors.New("no handler is called")
		}
		return nil
	})
}

func (w widgets) client() dynamic.ResourceInterface { return w.of(w.Dynamic()) }

// of is what a client knows of the widgets.
func (w widgets) of(client dynamic.Interface) dynamic.ResourceInterface {
	return client.Resource(schema.GroupVersionResource{Group: w.group, Version: "v1", Resource: "widgets"}).Namespace(w.namespace)
}

func (w widgets) widget(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf("{apiVersion: %s/v1, kind: Widget, metadata: {name: %s}, spec: %s}", w.group, name, spec)
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}
}

// make creates a widget.
func (w widgets) make(t *testing.T, name, spec string) (*unstructured.Unstructured, error) {
	t.Helper()
	return w.client().Create(t.Context(), w.widget(t, name, spec), metav1.CreateOptions{})
}

// try lets a widget without a spec be reviewed, and does not make it: a dry run.
func (w widgets) try(ctx context.Context, name string) error {
	object := map[string]any{"apiVersion": w.group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{}}
	_, err := w.client().Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// reviewed is what the guest prints of a review.
type reviewed struct {
	Handler     string
	Operation   string
	Subresource string
	DryRun      bool
	Name        string
	User        string
	SSLPeer     map[string]any
	Agent       []string
	Old, New    map[string]any
	Changes     int
	Memo        int
	Indexed     []string
	Resource    string
}

// reviews are those of one object so far.
func (w widgets) reviews(t *testing.T, name string) []reviewed {
	t.Helper()
	var list []reviewed
	for _, line := range w.stdout.All() {
		var r reviewed
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("standard output of the guest: %v: %q", err, line)
		}
		if r.Name == name {
			list = append(list, r)
		}
	}
	return list
}

// configured lists the names of the webhooks that are configured.
func (s space) configured(t *testing.T, resource schema.GroupVersionResource) []string {
	t.Helper()
	object, err := s.Dynamic().Resource(resource).Get(t.Context(), s.managedName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, webhook := range list {
		names = append(names, webhook.(map[string]any)["name"].(string))
	}
	return names
}
