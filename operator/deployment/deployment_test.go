package deployment

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

var update = flag.Bool("update", false, "write the golden files")

var resources = []selectors.Resource{
	{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Singular: "shop", Subresources: []string{"status"}, Namespaced: true, Preferred: true, Verbs: []string{"list", "watch", "patch"}},
	{Group: "example.com", Version: "v1", Plural: "towns", Kind: "Town", Singular: "town", Preferred: true, Verbs: []string{"list", "watch", "patch"}},
	{Version: "v1", Plural: "pods", Kind: "Pod", Singular: "pod", Namespaced: true, Preferred: true, Verbs: []string{"list", "watch", "patch"}},
}

func handler(kind abi.Kind, name string) abi.Handler {
	return abi.Handler{Kind: kind, ID: string(kind), Resource: &abi.Selector{Plural: name}}
}

func operator(handlers ...abi.Handler) *Operator {
	return &Operator{Name: "op", Namespace: "ops", Resources: resources, Registrations: []*abi.Registration{{Handlers: handlers}}}
}

func TestManifests(t *testing.T) {
	capable := &abi.Capabilities{Kubernetes: []abi.KubernetesRule{
		{Groups: []string{"", "apps"}, Resources: []string{"services"}, Verbs: []string{"create"}},
		{Groups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, Namespaces: []string{"vault"}},
	}}
	module := []string{"oci://example.com/op:v1"}
	for name, make := range map[string]func() ([]dicts.Object, error){
		"one-namespace": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "shops"), handler(abi.KindIndex, "pods"))
			o.Namespaces = []string{"shops"}
			return o.Rights()
		},
		"cluster": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "shops"), handler(abi.KindTimer, "towns"))
			o.Peering = "op"
			return o.Rights()
		},
		"patterns": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindEvent, "shops"))
			o.Namespaces = []string{"prod-*", "!prod-x"}
			return o.Rights()
		},
		"cluster-scoped": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "towns"))
			o.Namespaces = []string{"a", "b"}
			return o.Rights()
		},
		"wanted": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindEvent, "shops"))
			o.Registrations[0].Capabilities, o.Wanted, o.Namespaces = capable, true, []string{"a", "b"}
			return o.Rights()
		},
		"admission": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindValidate, "shops"), handler(abi.KindConvert, "towns"))
			o.Admission = "op.example.com"
			return o.Rights()
		},
		"hosted-admission": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindValidate, "shops"), handler(abi.KindMutate, "shops"), handler(abi.KindConvert, "towns"))
			o.Hosted, o.Namespaces = true, []string{"ops"}
			return o.Rights()
		},
		"replicas": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "shops"), handler(abi.KindMutate, "shops"))
			o.Admission, o.Namespaces, o.Replicas = "op.example.com", []string{"shops"}, 3
			rights, err := o.Rights()
			if err != nil {
				return nil, err
			}
			workload, err := o.Deployment("example.com/kopf:v1", module)
			return append(rights, workload...), err
		},
		"shared": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "shops"))
			o.Namespaces, o.Replicas, o.Shared = []string{"shops"}, 3, true
			rights, err := o.Rights()
			if err != nil {
				return nil, err
			}
			workload, err := o.Deployment("example.com/kopf:v1", module)
			return append(rights, workload...), err
		},
		"deployment": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "shops"), handler(abi.KindMutate, "shops"))
			o.Admission, o.Namespaces = "op.example.com", []string{"ops"}
			return o.Deployment("example.com/kopf:v1", module)
		},
		"values": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "shops"), handler(abi.KindMutate, "shops"))
			o.Registrations[0].Capabilities, o.Wanted, o.Peering, o.Replicas = capable, true, "op", 2
			o.Admission, o.Namespaces = "op.example.com", []string{"ops", "shops"}
			values, err := o.Values(module)
			return []dicts.Object{values}, err
		},
		"values-cluster": func() ([]dicts.Object, error) {
			values, err := operator(handler(abi.KindCreate, "shops")).Values(module)
			return []dicts.Object{values}, err
		},
		"hosted": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "shops"))
			o.Namespaces = []string{"ops"}
			declared, err := o.Declaration(module)
			return []dicts.Object{declared}, err
		},
		"hosted-elsewhere": func() ([]dicts.Object, error) {
			o := operator(handler(abi.KindCreate, "shops"))
			o.Registrations[0].Capabilities, o.Wanted, o.Namespaces = capable, true, []string{"a", "prod-*"}
			declared, err := o.Declaration(module)
			return []dicts.Object{declared}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := make()
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, object := range objects {
				text, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, string(text))
			}
			golden(t, filepath.Join("testdata", name+".yaml"), strings.Join(all, "---\n"))
		})
	}
}

// TestConfigurationIsDeployed: an operator that needs a configuration would not start without it. Kubernetes replaces $(NAME) in
// arguments of containers, and $$ stands for $ there.
func TestConfigurationIsDeployed(t *testing.T) {
	o := operator(handler(abi.KindCreate, "shops"))
	o.Namespaces, o.Config = []string{"ops"}, map[string]string{"path": "$(POD_ID)", "greeting": "hello"}
	module := []string{"oci://example.com/op:v1"}
	workload, err := o.Deployment("example.com/kopf:v1", module)
	if err != nil {
		t.Fatal(err)
	}
	values, err := o.Values(module)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := o.Declaration(module)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		object dicts.Object
		want   []string
	}{
		{workload[len(workload)-1], []string{"--config=greeting=hello", "--config=path=$$(POD_ID)"}},
		{values, []string{"--config=greeting=hello", "--config=path=$$(POD_ID)"}},
		{declared, []string{"greeting: hello", "path: $(POD_ID)"}},
	} {
		text, err := yaml.Marshal(tt.object)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestRightsThatAreUnknown(t *testing.T) {
	chosen := abi.Handler{Kind: abi.KindEvent, ID: "spy", Resource: &abi.Selector{Function: true}}
	wanting := operator(handler(abi.KindEvent, "shops"))
	wanting.Registrations[0].Capabilities = &abi.Capabilities{HTTP: []string{"example.com"}}
	for _, tt := range []struct {
		of   *Operator
		want string
	}{
		{operator(chosen), `handler "spy": a function selects its resources`},
		{operator(handler(abi.KindEvent, "ships")), "unresolved resources cannot be served"},
		{operator(handler(abi.KindValidate, "shops")), "--admission-managed"},
		{wanting, "--allow-wanted"},
	} {
		if _, err := tt.of.Rights(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v instead of %q", err, tt.want)
		}
	}
}

// TestRightsAreTheLeast: * of a module is what the host lets through, not also escalate and impersonate; and a namespace may be named
// twice.
func TestRightsAreTheLeast(t *testing.T) {
	o := operator(handler(abi.KindEvent, "shops"))
	o.Namespaces, o.Wanted = []string{"a", "a"}, true
	o.Registrations[0].Capabilities = &abi.Capabilities{Kubernetes: []abi.KubernetesRule{{Groups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles"}, Verbs: []string{"*"}}}}
	all, err := o.rights()
	if err != nil {
		t.Fatal(err)
	}
	if rules := all["a"]; len(rules) == 0 || slices.Contains(rules[len(rules)-1].verbs, "*") {
		t.Errorf("rights in the namespace: %+v", rules)
	}
	if len(all[""]) != 1 { // definitions
		t.Errorf("rights in the whole cluster: %+v", all[""])
	}
	o.Registrations[0].Capabilities.Kubernetes[0].Namespaces = []string{""}
	if _, err := o.rights(); err == nil || !strings.Contains(err.Error(), "is not a pattern of namespaces") {
		t.Errorf("an empty namespace: error %v", err)
	}
}

// TestReviewsOfSubresources: the host asks for the verb for the subresource that a handler names.
func TestReviewsOfSubresources(t *testing.T) {
	o := operator(handler(abi.KindValidate, "shops"), handler(abi.KindValidate, "shops"), handler(abi.KindMutate, "shops"))
	handlers := o.Registrations[0].Handlers
	handlers[1].Subresource, handlers[2].Subresource = "status", "*"
	o.Hosted, o.Namespaces = true, []string{"ops"}
	all, err := o.rights()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, r := range all["ops"] {
		found = append(found, strings.Join(r.verbs, ",")+" "+strings.Join(r.resources, ","))
	}
	if want := []string{"validate shops", "mutate shops/*", "validate shops/status"}; !slices.Equal(found, want) {
		t.Errorf("rights %q, want %q", found, want)
	}
}

func TestDefinitions(t *testing.T) {
	const text = `{kind: Namespace}
---
{kind: CustomResourceDefinition, spec: {group: g, scope: Cluster, names: {plural: ps, kind: P, shortNames: [p]}, versions: [
  {name: v2beta1, served: true}, {name: v1, served: true}, {name: v2, served: true, subresources: {status: {}}}, {name: v3, served: false}]}}`
	got, err := Definitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	want := []selectors.Resource{
		{Group: "g", Version: "v2", Plural: "ps", Kind: "P", Singular: "p", Shortcuts: []string{"p"}, Subresources: []string{"status"}, Preferred: true, Verbs: all},
		{Group: "g", Version: "v1", Plural: "ps", Kind: "P", Singular: "p", Shortcuts: []string{"p"}, Verbs: all},
		{Group: "g", Version: "v2beta1", Plural: "ps", Kind: "P", Singular: "p", Shortcuts: []string{"p"}, Verbs: all},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for bad, wanted := range map[string]string{"a: [": "yaml", "- 1": "a document is no object", "{kind: Pod}": "there is no CustomResourceDefinition"} {
		if _, err := Definitions([]byte(bad)); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
