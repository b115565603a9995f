package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/artifacts/oci/ocitest"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/hosting/installation"
)

// declarations are the WasmOperators.
var declarations = schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: api.Namespaced.Plural()}

// installed applies the definitions to the shared cluster once.
var installed sync.Once

// hosting is a namespace with a registry and a host, whose own account may do nothing but
// host.
type hosting struct {
	space
	registry *ocitest.Registry
	*process
}

// hosted makes a namespace in which the service account "tenant" may handle KopfExamples.
func hosted(t *testing.T, mode identity.Mode) *hosting {
	t.Helper()
	s := newSpace(t)
	installed.Do(func() { s.install(t) })
	return hostedIn(t, s, mode)
}

// install applies what `kopf serve --install` prints, and a role of hosts with --identity impersonate.
func (s space) install(t *testing.T) {
	t.Helper()
	s.Apply(t, installation.Manifests(identity.Token, &installation.Admission{}))
	s.Apply(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: kopf-impersonator}, rules: [{apiGroups: [''], resources: [serviceaccounts], verbs: [impersonate, get]}]}")
}

// hostedIn makes the accounts in a namespace of a cluster with the definitions.
func hostedIn(t *testing.T, s space, mode identity.Mode) *hosting {
	t.Helper()
	h := &hosting{space: s, registry: ocitest.New(t)}
	h.account(t, "tenant", "kopfexamples", "*")
	h.ApplyIn(t, h.namespace, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: host}}")
	for _, role := range []string{"kopf-serve", "kopf-impersonator"} {
		if role == "kopf-impersonator" && mode == identity.Token {
			continue
		}
		h.Apply(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %s-%s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}, subjects: [{kind: ServiceAccount, name: host, namespace: %[2]s}]}", role, h.namespace))
	}
	return h
}

// account makes a service account that may use a resource of kopf.dev.
func (h *hosting) account(t *testing.T, name, resource, verbs string) {
	t.Helper()
	h.ApplyIn(t, h.namespace, fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[1]s}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: %[1]s}, rules: [{apiGroups: [kopf.dev], resources: [%[2]s], verbs: ['%[3]s']}, {apiGroups: [''], resources: [events], verbs: [create]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}, subjects: [{kind: ServiceAccount, name: %[1]s}]}`, name, resource, verbs))
}

// as makes the credentials of a service account.
func (h *hosting) as(t *testing.T, account string) *rest.Config { return h.As(t, h.namespace, account) }

func named(object *unstructured.Unstructured, name string) *unstructured.Unstructured {
	object.SetName(name)
	return object
}

// serve starts `kopf serve` as the account of the host.
func (h *hosting) serve(t *testing.T, args ...string) {
	t.Helper()
	h.process = h.operate(t, []string{h.kubeconfig(t, "host")}, append([]string{"serve", "--verbose", "--allow-registry", h.registry.Ref("x").Registry}, args...)...)
}

// kubeconfig is the variable with the kubeconfig of a service account.
func (h *hosting) kubeconfig(t *testing.T, account string) string {
	return "KUBECONFIG=" + h.KubeconfigOf(t, h.namespace, account)
}

// pack puts a module into the registry.
func (h *hosting) pack(t *testing.T, tag, module string) {
	t.Helper()
	wasm, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	h.registry.Pack(t, tag, wasm)
}

// declare declares an operator; more is added to its spec.
func (h *hosting) declare(t *testing.T, name, tag, account, more string) {
	t.Helper()
	h.ApplyIn(t, h.namespace, fmt.Sprintf("{apiVersion: hosting.kopf.dev/v1alpha1, kind: WasmOperator, metadata: {name: %s}, spec: {module: '%s', serviceAccountName: %s%s}}", name, h.registry.Ref(tag), account, more))
}

// condition waits until a condition has a reason, and returns its message.
func (h *hosting) condition(t *testing.T, name string, of api.ConditionType, reason string) string {
	t.Helper()
	var message string
	h.space.eventually(t, func() error {
		o := h.declared(t, name)
		c := o.Status.Find(of)
		if c == nil || c.Reason != reason || o.Status.ObservedGeneration != o.Metadata.Generation {
			text, _ := json.Marshal(o.Status)
			return fmt.Errorf("%s: waiting for %s %s: %s", name, of, reason, text)
		}
		message = c.Message
		return nil
	})
	return message
}

func (h *hosting) declared(t *testing.T, name string) *api.Operator {
	t.Helper()
	object, err := h.client(declarations).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	o, err := api.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestServedOperators: the whole life of declared operators: they are loaded, replaced,
// suspended and removed; a bad version leaves the old one running; each failure is named.
func TestServedOperators(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.pack(t, "v1", version(t))
	h.pack(t, "v2", version(t, "version=2"))
	h.pack(t, "greedy", version(t, "version=2", "handlers=create,pods"))
	h.registry.Pack(t, "bad", []byte("\x00asm\x01\x00\x00\x00nonsense"))
	h.ApplyIn(t, h.namespace, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: auditor}}")
	h.Apply(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: auditor-%[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: auditor, namespace: %[1]s}]}", h.namespace))
	h.serve(t, "-n", h.namespace)
	h.declare(t, "a", "v1", "tenant", "")
	h.declare(t, "orphan", "v1", "absent", "")
	h.declare(t, "large", "v1", "tenant", ", limits: {MaxMemory: 2Gi}")
	h.declare(t, "nothing", "absent", "tenant", "")
	h.condition(t, "a", api.Ready, "Serving")
	h.create(t, "obj1", "{}")
	h.handled(t, "obj1")
	h.space.until(t, "the status has the resources", func() bool { return len(h.declared(t, "a").Status.Resources) > 0 })
	roles := kopf(t, []string{h.kubeconfig(t, "auditor")}, "serve", "--watch-roles", "-n", h.namespace)
	if want := `- {apiGroups: ["kopf.dev"], resources: [kopfexamples], verbs: [list, watch]}`; roles.code != 0 || !strings.Contains(roles.stdout, want) || strings.Contains(roles.stdout, "*") {
		t.Errorf("the roles: %+v", roles)
	}
	h.Apply(t, roles.stdout) // the API server accepts them
	if s := h.declared(t, "a").Status; !strings.HasPrefix(s.Digest, "sha256:") || !strings.Contains(s.Module, "@sha256:") || s.Handlers != 2 || !s.Is(api.Accepted) || !s.Is(api.Granted) || s.Is(api.Degraded) {
		t.Errorf("status %+v", s)
	}
	for name, want := range map[string][3]string{
		"orphan":  {"Ready", "ServiceAccountMissing", "the service account " + h.namespace + "/absent does not exist"},
		"large":   {"Accepted", "InvalidSpec", "spec.limits: limit MaxMemory: 2Gi is above the maximum 256Mi of the host"},
		"nothing": {"Resolved", "ModuleMissing", "some/operator:absent"},
	} {
		if message := h.condition(t, name, api.ConditionType(want[0]), want[1]); !strings.Contains(message, want[2]) {
			t.Errorf("%s: %s", name, message)
		}
	}
	h.declare(t, "a", "greedy", "tenant", "")
	if message := h.condition(t, "a", api.Granted, "MissingGrants"); !strings.Contains(message, `spec.grants.kubernetes: "list:pods"`) {
		t.Errorf("says %q", message)
	}
	h.declare(t, "a", "bad", "tenant", "")
	h.condition(t, "a", api.Degraded, "ModuleRefused")
	h.create(t, "obj2", "{}")
	h.handled(t, "obj2") // by the first version
	h.declare(t, "a", "v2", "tenant", "")
	h.condition(t, "a", api.Ready, "Serving")
	h.patch(t, "obj2", `{"spec":{"field":"x"}}`)
	h.handled(t, "obj2")
	h.declare(t, "b", "v1", "tenant", "")
	h.condition(t, "b", api.Overlapping, "SameObjects")
	h.declare(t, "a", "v2", "tenant", ", suspend: true")
	h.condition(t, "a", api.Ready, "Suspended")
	h.condition(t, "b", api.Ready, "Serving") // at one of its next attempts
	h.posted(t, "a", "Serving", "ModuleRefused", "Suspended")
	if err := h.client(declarations).Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.space.until(t, "b has stopped", func() bool {
		return len(h.stderr.With("ns", "The operator stops.", "/b")) > 0 || len(h.stderr.With("The operator stops.")) > 1
	})
	h.quiet(t, "a")
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.ended:
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// posted waits for events about a declaration.
func (h *hosting) posted(t *testing.T, name string, reasons ...string) {
	t.Helper()
	h.space.eventually(t, func() error {
		events, err := h.client(schema.GroupVersionResource{Version: "v1", Resource: "events"}).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=WasmOperator,involvedObject.name=" + name})
		if err != nil {
			return err
		}
		found := map[string]bool{}
		for _, event := range events.Items {
			reason, _, _ := unstructured.NestedString(event.Object, "reason")
			found[reason] = true
		}
		for _, reason := range reasons {
			if !found[reason] {
				return fmt.Errorf("no event %s: %v", reason, found)
			}
		}
		return nil
	})
}

// TestServedOperatorsThatTriggerThemselves: they are slowed down and named, and nothing else
// happens to them.
func TestServedOperatorsThatTriggerThemselves(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.pack(t, "again", version(t, "handlers=again"))
	h.serve(t, "-n", h.namespace)
	h.declare(t, "a", "again", "tenant", ", limits: {LoopRate: '5'}")
	h.condition(t, "a", api.Ready, "Serving")
	h.create(t, "obj", "{}")
	h.handled(t, "obj")
	h.patch(t, "obj", `{"spec":{"field":"x"}}`)
	message := h.condition(t, "a", api.Throttled, "LoopRate")
	if !strings.Contains(message, "the handler againFn is called for kopfexamples.v1.kopf.dev "+h.namespace+"/obj by its own patches") || !h.declared(t, "a").Status.Is(api.Ready) {
		t.Errorf("says %q", message)
	}
	h.posted(t, "a", "LoopRate")
}

// quiet checks that the host does not write a status for ever.
func (h *hosting) quiet(t *testing.T, name string) {
	t.Helper()
	before := h.declared(t, name).Metadata.ResourceVersion
	h.create(t, "quiet", "{}") // some time passes, and the API server answers
	if after := h.declared(t, name).Metadata.ResourceVersion; after != before {
		t.Errorf("written again: %s, %s", before, after)
	}
}

// TestServedOperatorsHaveTheRightsOfTheirAccounts: an operator does what its account may and
// the host may not, and does not what the host may and its account may not.
func TestServedOperatorsHaveTheRightsOfTheirAccounts(t *testing.T) {
	t.Parallel()
	for _, mode := range identity.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			h := hosted(t, mode)
			h.account(t, "less", "kopfexamples", "get")
			// The host may do everything with KopfSubs, unlike the account.
			h.Apply(t, fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: host, namespace: %[1]s}, rules: [{apiGroups: [kopf.dev], resources: [kopfsubs], verbs: ['*']}]}\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: host, namespace: %[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: host}, subjects: [{kind: ServiceAccount, name: host}]}", h.namespace))
			h.pack(t, "examples", version(t))
			h.pack(t, "subs", version(t, "resource=kopfsubs"))
			h.serve(t, "-n", h.namespace, "--identity", string(mode))
			h.declare(t, "more", "examples", "tenant", "")
			h.declare(t, "less", "subs", "less", "")
			h.condition(t, "more", api.Ready, "Serving")
			h.create(t, "obj", "{}")
			h.handled(t, "obj") // the host itself may not even read it
			if message := h.condition(t, "less", api.Degraded, "NotWatching"); !strings.Contains(message, "kopfsubs") || strings.Contains(message, "kopfpeerings") {
				t.Errorf("says %q", message)
			}
			user := "system:serviceaccount:" + h.namespace + ":less"
			h.process.says(t, "less: Request attempt #1/9 failed; will retry: GET /apis/kopf.dev/v1/namespaces/"+h.namespace+"/kopfsubs?limit=500 -> kopfsubs.kopf.dev is forbidden: User \""+user+"\" cannot list")
		})
	}
}

// TestAuthorsMustBeAllowedToImpersonate: the policy lets only those declare an operator, or
// change it, who may impersonate its service account.
func TestAuthorsMustBeAllowedToImpersonate(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	for name, verbs := range map[string]string{"bold": "[get]", "entitled": "[impersonate]"} {
		h.ApplyIn(t, h.namespace, fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[1]s}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: %[1]s}, rules: [{apiGroups: [hosting.kopf.dev], resources: [wasmoperators], verbs: ['*']}, {apiGroups: [''], resources: [serviceaccounts], resourceNames: [tenant], verbs: %[2]s}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[1]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}, subjects: [{kind: ServiceAccount, name: %[1]s}]}`, name, verbs))
	}
	client := func(account string) dynamic.ResourceInterface {
		dynamic, err := dynamic.NewForConfig(h.as(t, account))
		if err != nil {
			t.Fatal(err)
		}
		return dynamic.Resource(declarations).Namespace(h.namespace)
	}
	object := func(account string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": api.APIVersion, "kind": string(api.Namespaced), "metadata": map[string]any{"name": "op"},
			"spec": map[string]any{"module": "ghcr.io/me/op:v1", "serviceAccountName": account},
		}}
	}
	bold, entitled := client("bold"), client("entitled")
	h.space.eventually(t, func() error { // the policy and the roles take effect some time after they were written
		_, err := entitled.Create(t.Context(), object("tenant"), metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) {
			_, err = bold.Create(t.Context(), named(object("tenant"), "other"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil {
				return fmt.Errorf("the policy has no effect yet")
			}
			return nil
		}
		return err
	})
	refuse := func(what string, err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "you may not impersonate the service account "+h.namespace) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := bold.Create(t.Context(), named(object("tenant"), "other"), metav1.CreateOptions{})
	refuse("a new one", err)
	_, err = entitled.Create(t.Context(), named(object("host"), "other"), metav1.CreateOptions{})
	refuse("another account", err)
	change := func(by dynamic.ResourceInterface, patch string) error {
		_, err := by.Patch(t.Context(), "op", "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
		return err
	}
	refuse("another module", change(bold, `{"spec":{"module":"ghcr.io/me/op:v2"}}`))
	refuse("another account", change(entitled, `{"spec":{"serviceAccountName":"host"}}`))
	for what, err := range map[string]error{
		"a label":        change(bold, `{"metadata":{"labels":{"a":"b"}}}`),
		"another module": change(entitled, `{"spec":{"module":"ghcr.io/me/op:v2"}}`),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	crowded := named(object("tenant"), "crowded")
	annotations := map[string]string{}
	for i := range 300 {
		annotations[fmt.Sprint("a", i)] = ""
	}
	crowded.SetAnnotations(annotations)
	if _, err := entitled.Create(t.Context(), crowded, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "owner references and managers of fields: at most 200 are possible") {
		t.Errorf("300 annotations: %v", err)
	}
}

// TestHostsWithoutRights: the error names what is missing, and the command that adds it.
func TestHostsWithoutRights(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	got := kopf(t, []string{h.kubeconfig(t, "tenant")}, "serve", "-n", h.namespace)
	if got.code != 1 || !strings.Contains(got.stderr, "the host may not list the resource wasmoperators.hosting.kopf.dev: run: kopf serve --install | kubectl apply -f -") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
}

// TestDefinitionsRefuse: the API server refuses what the host would refuse.
func TestDefinitionsRefuse(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	cluster := schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: api.Cluster.Plural()}
	tests := []struct {
		kind       api.Kind
		spec, says string
	}{
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","grants":{"kubernetes":["list:pods"],"config":{"a":"b"},"secrets":{"c":{"name":"s","key":"k"}}},"limits":{"MaxMemory":"1Mi"},"settings":{"posting.level":20,"x.y":{"a":[1]}},"onRemoval":{"finalizers":"Keep"}}`, ""},
		{api.Cluster, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"a","serviceAccountNamespace":"b","scope":{"namespaces":["prod-*,!prod-x"]}}`, ""},
		{api.Cluster, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"a","serviceAccountNamespace":"b","scope":{"namespaceSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"Exists"}]}}}`, ""},
		{api.Cluster, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"a","serviceAccountNamespace":"b","scope":{"namespaceSelector":{"matchExpressions":[{"key":"c","operator":"In"}]}}}`, "In and NotIn need values"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","scope":{"namespaceSelector":{}}}`, `unknown field "spec.scope"`},
		{api.Namespaced, `{"serviceAccountName":"tenant"}`, "spec.module: Required value"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1"}`, "spec.serviceAccountName: Required value"},
		{api.Namespaced, `{"module":"/etc/passwd","serviceAccountName":"tenant"}`, "want a reference of an artifact"},
		{api.Namespaced, `{"module":"ghcr.io/me/../op:v1","serviceAccountName":"tenant"}`, "want a reference of an artifact"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1\n","serviceAccountName":"tenant"}`, "want a reference of an artifact"},
		{api.Namespaced, `{"module":"https://example.com/op.wasm","serviceAccountName":"tenant"}`, "want a reference of an artifact"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"kube-system:admin"}`, "spec.serviceAccountName: Invalid value"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"../admin"}`, "spec.serviceAccountName: Invalid value"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","serviceAccountNamespace":"kube-system"}`, `unknown field "spec.serviceAccountNamespace"`},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","scope":{}}`, `unknown field "spec.scope"`},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","grants":{"config":{"a":"b"},"secrets":{"a":{"name":"s","key":"k"}}}}`, "a key is either in config or in secrets"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","onRemoval":{"finalizers":"Drop"}}`, "Unsupported value"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","onRemoval":{"finalizers":"ReleaseAfter","releaseAfter":"1h30m"}}`, ""},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","onRemoval":{"releaseAfter":"5m"}}`, "releaseAfter is for finalizers: ReleaseAfter only"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","onRemoval":{"finalizers":"Release","releaseAfter":"5m"}}`, "releaseAfter is for finalizers: ReleaseAfter only"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","onRemoval":{"finalizers":"ReleaseAfter","releaseAfter":"25h"}}`, "want a time above 0 and up to 24h"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","onRemoval":{"finalizers":"ReleaseAfter","releaseAfter":"0s"}}`, "want a time above 0 and up to 24h"},
		{api.Namespaced, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"tenant","onRemoval":{"finalizers":"ReleaseAfter","releaseAfter":"soon"}}`, "spec.onRemoval.releaseAfter: Invalid value"},
		{api.Cluster, `{"module":"ghcr.io/me/op:v1","serviceAccountName":"a"}`, "spec.serviceAccountNamespace: Required value"},
	}
	for _, tt := range tests {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": api.APIVersion, "kind": string(tt.kind), "metadata": map[string]any{"name": "op"}}}
		var spec map[string]any
		if err := json.Unmarshal([]byte(tt.spec), &spec); err != nil {
			t.Fatal(err)
		}
		object.Object["spec"] = spec
		client := h.client(declarations)
		if tt.kind == api.Cluster {
			client = h.Dynamic().Resource(cluster)
		}
		_, err := client.Create(context.WithoutCancel(t.Context()), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		if got := fmt.Sprint(err); (err == nil) != (tt.says == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s %s: %v, want %q", tt.kind, tt.spec, err, tt.says)
		}
	}
}

// TestServedFolder: declarations of a folder with modules that are files. Both change while
// the host runs. The cluster kind serves the namespaces of its scope.
func TestServedFolder(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	dir := t.TempDir()
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(dir+"/"+name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	module := func(path string) {
		t.Helper()
		wasm, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		put("op.wasm", wasm)
	}
	module(version(t))
	put("a.yaml", fmt.Appendf(nil, "{apiVersion: hosting.kopf.dev/v1alpha1, kind: ClusterWasmOperator, metadata: {name: a}, spec: {module: op.wasm, serviceAccountName: tenant, serviceAccountNamespace: %s, scope: {namespaces: [%[1]s]}}}", h.namespace))
	h.serve(t, dir)
	h.create(t, "obj", "{}")
	h.handled(t, "obj")
	if len(h.stderr.With("ClusterWasmOperator a: ", `"version":"1"`, `"handler":"create"`)) == 0 {
		t.Errorf("the log does not name the operator: %s", h.stderr)
	}
	module(version(t, "version=2"))
	h.process.says(t, "op.wasm is replaced by sha256:")
	h.patch(t, "obj", `{"spec":{"field":"x"}}`)
	h.space.until(t, "the second version handles it", func() bool {
		return len(h.stderr.With("ClusterWasmOperator a: ", `"version":"2"`, `"handler":"update"`)) > 0
	})
	if err := os.Remove(dir + "/a.yaml"); err != nil {
		t.Fatal(err)
	}
	h.process.says(t, "The operator stops.")
}

// TestServedNamespacesFollowTheirLabels: an operator with a selector of namespaces serves a
// namespace while it has the label. Its account may not list namespaces.
func TestServedNamespacesFollowTheirLabels(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	dir := t.TempDir()
	wasm, err := os.ReadFile(version(t))
	if err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Appendf(nil, "{apiVersion: hosting.kopf.dev/v1alpha1, kind: ClusterWasmOperator, metadata: {name: a}, spec: {module: op.wasm, serviceAccountName: tenant, serviceAccountNamespace: %s, scope: {namespaceSelector: {matchLabels: {served: %[1]s}}}}}", h.namespace)
	for name, text := range map[string][]byte{"op.wasm": wasm, "a.yaml": manifest} {
		if err := os.WriteFile(dir+"/"+name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	label := func(value string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"labels":{"served":%s}}}`, value)
		if _, err := h.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Patch(t.Context(), h.namespace, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	h.create(t, "obj", "{}")
	h.serve(t, dir)
	h.process.says(t, "The operator starts.")
	label(fmt.Sprintf("%q", h.namespace))
	h.handled(t, "obj")
	label("null")
	h.process.says(t, "Stopping the watch-stream for kopfexamples.v1.kopf.dev in '"+h.namespace+"'")
	h.create(t, "later", "{}")
	label(fmt.Sprintf("%q", h.namespace))
	h.handled(t, "later")
}
