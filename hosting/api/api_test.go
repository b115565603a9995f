package api_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/hosting/api"
)

const head = "apiVersion: hosting.kopf.dev/v1alpha1\n"

// TestDecodingNamesTheWrongField: an error has the path of the field, or its line.
func TestDecodingNamesTheWrongField(t *testing.T) {
	tests := []struct{ name, text, says string }{
		{"an unknown field", "spec: {modul: x}", `unknown field "spec.modul"`},
		{"an unknown field deep inside", "spec: {grants: {kubernets: []}}", `unknown field "spec.grants.kubernets"`},
		{"another case", "spec: {Module: x}", `unknown field "spec.Module"`},
		{"a wrong type", "spec: {suspend: maybe}", "spec.suspend: it is a text: want true or false"},
		{"a list for a text", "spec: {module: [x]}", "spec.module: it is a list: want a text"},
		{"a number for a limit", "spec: {limits: {MaxMemory: 5}}", "spec.limits: it is a number: want a text, so put it into quotes"},
		{"true for a text", "spec: {grants: {config: {verbose: true}}}", "spec.grants.config: it is true or false: want a text, so put it into quotes"},
		{"a text for a map", "spec: {grants: {config: verbose}}", "spec.grants.config: it is a text: want an object"},
		{"an object for a list", "spec: {grants: {hosts: {a: b}}}", "spec.grants.hosts: it is an object: want a list"},
		{"a repeated field", "spec: {module: a, module: b}", "already"},
		{"metadata of the server", "metadata: {uid: x}", `unknown field "metadata.uid"`},
		{"not an object", "- a", "want an object"},
		{"nothing", "", "want an object"},
		{"two documents", "spec: {}\n---\nspec: {}", "more than one document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.text
			if strings.HasPrefix(text, "spec") || strings.HasPrefix(text, "metadata") {
				text = head + text
			}
			_, err := api.DecodeYAML([]byte(text))
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "Go ") {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

// TestWhatTheServerReturnsIsDecoded: metadata has more fields, and a status of another
// version of the host is ignored.
func TestWhatTheServerReturnsIsDecoded(t *testing.T) {
	o, err := api.Decode([]byte(`{"apiVersion":"hosting.kopf.dev/v1alpha1","kind":"WasmOperator","metadata":{"name":"a","namespace":"b","uid":"u","generation":3,"managedFields":[]},
		"spec":{"module":"m","serviceAccountName":"s","settings":{"posting.level":20}},"status":{"handlers":"many"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if o.Metadata.Generation != 3 || o.Metadata.UID != "u" || o.Status != nil || string(o.Spec.Settings["posting.level"]) != "20" {
		t.Errorf("got %+v", o)
	}
	o, err = api.Decode([]byte(`{"kind":"WasmOperator","metadata":{"name":"a"},"spec":{"modul":"m"}}`))
	if err == nil || o.Metadata.Name != "a" {
		t.Errorf("got %+v, %v: want the name in addition to the error", o, err)
	}
}

func valid(kind api.Kind) *api.Operator {
	o := &api.Operator{APIVersion: api.APIVersion, Kind: kind, Metadata: api.Metadata{Name: "a", Namespace: "ns"}}
	o.Spec = api.Spec{Module: "oci://ghcr.io/me/operator:v1", ServiceAccountName: "sa"}
	if kind == api.Cluster {
		o.Metadata.Namespace, o.Spec.ServiceAccountNamespace = "", "ns"
	}
	return o
}

func TestValuesAreChecked(t *testing.T) {
	for _, kind := range []api.Kind{api.Namespaced, api.Cluster} {
		if err := valid(kind).Check(false); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	tests := []struct {
		says   string
		kind   api.Kind
		change func(*api.Operator)
	}{
		{"spec.serviceAccountNamespace: a WasmOperator uses accounts of its own namespace only", api.Namespaced, func(o *api.Operator) { o.Spec.ServiceAccountNamespace = "kube-system" }},
		{"spec.serviceAccountName: \"kube-system:admin\"", api.Namespaced, func(o *api.Operator) { o.Spec.ServiceAccountName = "kube-system:admin" }},
		{"spec.serviceAccountName: \"../kube-system/admin\"", api.Namespaced, func(o *api.Operator) { o.Spec.ServiceAccountName = "../kube-system/admin" }},
		{"spec.serviceAccountName: the field is missing", api.Namespaced, func(o *api.Operator) { o.Spec.ServiceAccountName = "" }},
		{"spec.scope: a WasmOperator serves its own namespace only", api.Namespaced, func(o *api.Operator) { o.Spec.Scope = &api.Scope{} }},
		{"spec.serviceAccountNamespace: the field is missing", api.Cluster, func(o *api.Operator) { o.Spec.ServiceAccountNamespace = "" }},
		{"metadata.namespace: a ClusterWasmOperator has no namespace", api.Cluster, func(o *api.Operator) { o.Metadata.Namespace = "x" }},
		{"spec.scope.namespaces[1]: the name is empty", api.Cluster, func(o *api.Operator) { o.Spec.Scope = &api.Scope{Namespaces: []string{"a", ""}} }},
		{`spec.scope.namespaceSelector: "Near" is not a valid label selector operator`, api.Cluster, func(o *api.Operator) {
			o.Spec.Scope = &api.Scope{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}
		}},
		{"spec.scope: a WasmOperator serves its own namespace only", api.Namespaced, func(o *api.Operator) {
			o.Spec.Scope = &api.Scope{NamespaceSelector: &metav1.LabelSelector{}}
		}},
		{"spec.scope: it selects no namespaces", api.Cluster, func(o *api.Operator) { o.Spec.Scope = &api.Scope{} }},
		{"spec.scope.namespaceSelector: it has neither matchLabels nor matchExpressions", api.Cluster, func(o *api.Operator) {
			o.Spec.Scope = &api.Scope{Namespaces: []string{"*"}, NamespaceSelector: &metav1.LabelSelector{}}
		}},
		{"kind: \"Pod\": want WasmOperator or ClusterWasmOperator", "Pod", func(*api.Operator) {}},
		{"apiVersion: \"v1\": want hosting.kopf.dev/v1alpha1", api.Namespaced, func(o *api.Operator) { o.APIVersion = "v1" }},
		{"spec.module: the field is missing", api.Namespaced, func(o *api.Operator) { o.Spec.Module = "" }},
		{"spec.verification: there are no keys", api.Namespaced, func(o *api.Operator) { o.Spec.Verification = &api.Verification{} }},
		{"spec.pullSecrets[0]", api.Namespaced, func(o *api.Operator) { o.Spec.PullSecrets = []string{"a/b"} }},
		{"spec.onRemoval.finalizers: \"Drop\"", api.Namespaced, func(o *api.Operator) { o.Spec.OnRemoval = &api.OnRemoval{Finalizers: "Drop"} }},
		{"spec.onRemoval.releaseAfter: the time is for finalizers: ReleaseAfter only", api.Namespaced, func(o *api.Operator) { o.Spec.OnRemoval = &api.OnRemoval{ReleaseAfter: "5m"} }},
		{"spec.onRemoval.releaseAfter: the time is for finalizers: ReleaseAfter only", api.Cluster, func(o *api.Operator) {
			o.Spec.OnRemoval = &api.OnRemoval{Finalizers: api.Release, ReleaseAfter: "5m"}
		}},
		{`spec.onRemoval.releaseAfter: "soon"`, api.Namespaced, func(o *api.Operator) {
			o.Spec.OnRemoval = &api.OnRemoval{Finalizers: api.ReleaseAfter, ReleaseAfter: "soon"}
		}},
		{`spec.onRemoval.releaseAfter: "-5m"`, api.Namespaced, func(o *api.Operator) {
			o.Spec.OnRemoval = &api.OnRemoval{Finalizers: api.ReleaseAfter, ReleaseAfter: "-5m"}
		}},
		{`spec.onRemoval.releaseAfter: "25h": want a time above 0 and up to 24h0m0s`, api.Namespaced, func(o *api.Operator) {
			o.Spec.OnRemoval = &api.OnRemoval{Finalizers: api.ReleaseAfter, ReleaseAfter: "25h"}
		}},
		{"spec.grants.secrets[k]: the key is also in spec.grants.config", api.Namespaced, func(o *api.Operator) {
			o.Spec.Grants = &api.Grants{Config: map[string]string{"k": ""}, Secrets: map[string]api.SecretKey{"k": {Name: "s", Key: "k"}}}
		}},
	}
	for _, tt := range tests {
		o := valid(tt.kind)
		tt.change(o)
		if err := o.Check(false); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("got %v, want %q", err, tt.says)
		}
	}
}

// TestRemovalHasDefaults: without a value, finalizers stay, and deletion handlers have five
// minutes.
func TestRemovalHasDefaults(t *testing.T) {
	tests := []struct {
		removal *api.OnRemoval
		want    api.Finalizers
		limit   time.Duration
	}{
		{nil, api.Keep, 0},
		{&api.OnRemoval{}, api.Keep, 0},
		{&api.OnRemoval{Finalizers: api.Release}, api.Release, 0},
		{&api.OnRemoval{Finalizers: api.ReleaseAfter}, api.ReleaseAfter, 5 * time.Minute},
		{&api.OnRemoval{Finalizers: api.ReleaseAfter, ReleaseAfter: "1h30m"}, api.ReleaseAfter, 90 * time.Minute},
	}
	for _, tt := range tests {
		o := valid(api.Namespaced)
		o.Spec.OnRemoval = tt.removal
		got, limit := o.Spec.Removal()
		if err := o.Check(false); err != nil || got != tt.want || limit != tt.limit {
			t.Errorf("%+v: %s, %v, %v", tt.removal, got, limit, err)
		}
	}
}

// TestOnlyArtifactsAreModules: no name of a custom resource is a file of the host, or
// another URL.
func TestOnlyArtifactsAreModules(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for _, good := range []string{"oci://ghcr.io/me/op:v1", "ghcr.io/me/op:v1", "localhost:5000/op:v1", "ghcr.io/me/op@" + digest, "ghcr.io/a/b/c-d_e.f:1@" + digest, "127.0.0.1:5000/a:b"} {
		if !api.IsReference(good) {
			t.Errorf("%q is refused", good)
		}
	}
	bad := []string{
		"", "/etc/passwd", "etc/passwd", "./op.wasm", "../op.wasm", "op.wasm", "file:///etc/passwd", "https://example.com/op.wasm", "oci:///etc/passwd", "oci://../../etc/passwd:v1",
		"ghcr.io/me/../op:v1", "ghcr.io/me/op", "ghcr.io/me/op:", "ghcr.io//op:v1", "ghcr.io/me/op:v1\n", "ghcr.io/me/op:v1 ", "-", "oci://-x/op:v1", "user@ghcr.io/op:v1", "ghcr.io/op:v1?x", "ghcr.io/op@sha256:abc",
		"oci://oci://ghcr.io/me/op:v1", "ghcr.io/" + strings.Repeat("a", 2000) + ":v1",
	}
	for _, name := range bad {
		if api.IsReference(name) {
			t.Errorf("%q is accepted", name)
		}
		o := valid(api.Namespaced)
		o.Spec.Module = name
		if err := o.Check(false); err == nil {
			t.Errorf("%q passes the check", name)
		}
	}
}

type schema struct {
	Type                 string
	Properties           map[string]*schema
	Items                *schema
	AdditionalProperties *schema `json:"additionalProperties"`
	Description          string
	Required             []string
	MinItems             int                     `json:"minItems"`
	MinProperties        int                     `json:"minProperties"`
	Rules                []struct{ Rule string } `json:"x-kubernetes-validations"`
}

// definitions parses the manifests.
func definitions(t *testing.T) map[api.Kind]*schema {
	t.Helper()
	found := map[api.Kind]*schema{}
	for document := range strings.SplitSeq(api.Definitions, "\n---\n") {
		var d struct {
			Spec struct {
				Names    struct{ Kind api.Kind }
				Versions []struct {
					Schema struct {
						Root *schema `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(document), &d); err != nil {
			t.Fatal(err)
		}
		found[d.Spec.Names.Kind] = d.Spec.Versions[0].Schema.Root
	}
	return found
}

// TestTypesAgreeWithTheDefinitions: each field of a type is in the schema with its type, and
// the other way around. Only the cluster kind has the fields about namespaces.
func TestTypesAgreeWithTheDefinitions(t *testing.T) {
	all := definitions(t)
	if len(all) != 2 {
		t.Fatalf("%d definitions", len(all))
	}
	for kind, root := range all {
		absent := map[string]bool{"spec.scope": kind == api.Namespaced, "spec.serviceAccountNamespace": kind == api.Namespaced}
		agree(t, string(kind)+": ", "spec", reflect.TypeFor[api.Spec](), root.Properties["spec"], absent)
		agree(t, string(kind)+": ", "status", reflect.TypeFor[api.Status](), root.Properties["status"], absent)
		if rules := root.Properties["spec"].Properties["module"].Rules; len(rules) != 1 || !strings.Contains(rules[0].Rule, "r'"+api.ReferencePattern+"'") {
			t.Errorf("%s: the pattern of modules differs: %v", kind, rules)
		}
	}
}

// TestMistypedFields: the API server drops them, and must not accept a verification that demands
// nothing then, or a scope that is the whole cluster.
func TestMistypedFields(t *testing.T) {
	for kind, root := range definitions(t) {
		if scope := root.Properties["spec"].Properties["scope"]; scope != nil && (scope.MinProperties != 1 || scope.Properties["namespaceSelector"].MinProperties != 1) {
			t.Errorf("%s: the schema accepts a scope without namespaces", kind)
		}
		v := root.Properties["spec"].Properties["verification"]
		if !slices.Contains(v.Required, "keys") || v.Properties["keys"].MinItems != 1 {
			t.Errorf("%s: the schema accepts a verification without keys", kind)
		}
	}
}

func agree(t *testing.T, kind, path string, goType reflect.Type, s *schema, absent map[string]bool) {
	t.Helper()
	if s == nil {
		t.Errorf("%s%s is not in the schema", kind, path)
		return
	}
	if want := schemaType(goType); want != "" && s.Type != want {
		t.Errorf("%s%s has the type %q in the schema, want %q", kind, path, s.Type, want)
	}
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	switch goType.Kind() {
	case reflect.Slice:
		if schemaType(goType) == "array" {
			agree(t, kind, path+"[]", goType.Elem(), s.Items, absent)
		}
	case reflect.Map:
		if schemaType(goType.Elem()) != "" {
			agree(t, kind, path+"[]", goType.Elem(), s.AdditionalProperties, absent)
		}
	case reflect.Struct:
		if goType != reflect.TypeFor[time.Time]() {
			agreeFields(t, kind, path, goType, s, absent)
		}
	}
}

func agreeFields(t *testing.T, kind, path string, goType reflect.Type, s *schema, absent map[string]bool) {
	t.Helper()
	known := map[string]bool{}
	for field := range goType.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if at := path + "." + name; !absent[at] {
			known[name] = true
			agree(t, kind, at, field.Type, s.Properties[name], absent)
		}
	}
	for name := range s.Properties {
		if !known[name] {
			t.Errorf("%s%s.%s is in the schema, and no field of %v", kind, path, name, goType)
		}
	}
}

// schemaType is the type of a Go type in a schema; empty for any JSON.
func schemaType(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer:
		return schemaType(of.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return ""
		}
		return "array"
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return "string"
		}
		return "object"
	case reflect.Map:
		return "object"
	}
	panic(fmt.Sprintf("%v", of))
}
