package e2e_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
)

// manifests applies what `kopf manifest` prints for a module that serves the namespace.
func (s space) manifests(t *testing.T, args ...string) {
	t.Helper()
	printed := kopf(t, []string{"KUBECONFIG=" + s.Kubeconfig()}, append([]string{"manifest", "-n", s.namespace}, args...)...)
	if printed.code != 0 {
		t.Fatalf("kopf manifest has ended with %d: %s", printed.code, printed.stderr)
	}
	s.Apply(t, printed.stdout)
}

// TestManifestsOfRights: the printed rights are enough to handle objects without a refused request, and they are no
// more.
func TestManifestsOfRights(t *testing.T) {
	t.Parallel()
	h := &hosting{space: newSpace(t)}
	module := guest(t, "scripted")
	h.manifests(t, module, "--name", "deployed")
	p := h.operate(t, []string{h.kubeconfig(t, "deployed")}, "run", "--verbose", "--standalone", "-n", h.namespace, module)
	h.create(t, "obj", "{field: one}")
	h.handled(t, "obj")
	h.patch(t, "obj", `{"spec":{"field":"two"}}`)
	p.says(t, "Updating is processed")
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if refused := p.stderr.With("orbidden"); len(refused) != 0 {
		t.Errorf("requests were refused: %s", refused)
	}
	as, err := dynamic.NewForConfig(h.as(t, "deployed"))
	if err != nil {
		t.Fatal(err)
	}
	objects := as.Resource(schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}).Namespace(h.namespace)
	if err := objects.Delete(t.Context(), "obj", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the account may delete objects: %v", err)
	}
	if _, err := as.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(h.namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the account may list secrets: %v", err)
	}
}

// TestManifestsOfAdmission: the rights are enough for webhooks, too, of a definition that is only in a file.
func TestManifestsOfAdmission(t *testing.T) {
	t.Parallel()
	h := &hosting{space: newSpace(t)}
	h.forgetConfigurations(t)
	definition := repository + "/examples/17-admission/crd.yaml"
	module := example(t, "17-admission")
	h.manifests(t, module, "--name", "deployed", "--crd", definition, "--admission-managed", h.managedName())
	text, err := os.ReadFile(definition)
	if err != nil {
		t.Fatal(err)
	}
	h.Apply(t, string(text))
	p := h.operate(t, []string{h.kubeconfig(t, "deployed")}, "run", "--verbose", "--standalone", "-n", h.namespace,
		"--admission-server", `{"type":"server","addr":"127.0.0.1"}`, "--admission-managed", h.managedName(), module)
	p.says(t, "Reconfiguring the mutating webhook")
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if refused := p.stderr.With("orbidden"); len(refused) != 0 {
		t.Errorf("requests were refused: %s", refused)
	}
}

// TestManifestsOfHostedOperators: a host runs what they declare.
func TestManifestsOfHostedOperators(t *testing.T) {
	t.Parallel()
	h := hosted(t, identity.Token)
	h.pack(t, "v1", guest(t, "scripted"))
	h.manifests(t, h.registry.Ref("v1").String(), "--name", "deployed", "--hosted")
	h.serve(t, "-n", h.namespace)
	h.condition(t, "deployed", api.Ready, "Serving")
	h.create(t, "obj", "{field: one}")
	h.handled(t, "obj")
}

// TestManifestsThatCannotBe: one error each, that says what to do.
func TestManifestsThatCannotBe(t *testing.T) {
	t.Parallel()
	admission, minimal := example(t, "17-admission"), example(t, "01-minimal")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no scope":          {[]string{minimal}, "say where the operator serves"},
		"no module":         {[]string{"-A"}, "name a module"},
		"no cluster":        {[]string{"-A", minimal}, "name the files with their definitions: --crd FILE"},
		"other definitions": {[]string{"-A", minimal, "--crd", repository + "/examples/17-admission/crd.yaml"}, "unresolved resources cannot be served"},
		"no definition":     {[]string{"-A", minimal, "--crd", repository + "/examples/01-minimal/obj.yaml"}, "obj.yaml: there is no CustomResourceDefinition in it"},
		"no configuration":  {[]string{"-A", admission, "--crd", repository + "/examples/17-admission/crd.yaml"}, "--admission-managed"},
		"a file in a pod":   {[]string{"-A", minimal, "--crd", repository + "/examples/01-minimal/crd.yaml", "--image", "kopf"}, "kopf push"},
		"both":              {[]string{"-A", minimal, "--hosted", "--image", "kopf"}, "not both"},
		"values of a file":  {[]string{"-A", minimal, "--crd", repository + "/examples/01-minimal/crd.yaml", "--values"}, "kopf push"},
		"values of a host":  {[]string{"-A", minimal, "--hosted", "--values"}, "leave out --image and --hosted"},
		"a bad name":        {[]string{"-A", minimal, "--name", "My_Operator", "--crd", repository + "/examples/01-minimal/crd.yaml"}, `the name "My_Operator"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := kopf(t, nil, append([]string{"manifest"}, tt.args...)...); got.code == 0 || !strings.Contains(got.stderr, tt.want) || got.stdout != "" {
				t.Errorf("exit code %d, output %q, error %q instead of %q", got.code, got.stdout, got.stderr, tt.want)
			}
		})
	}
}

// TestMissingRights: after the first refusal, one line says all rights that the account lacks.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	h := &hosting{space: newSpace(t)}
	h.account(t, "weak", "kopfexamples", "list")
	p := h.operate(t, []string{h.kubeconfig(t, "weak")}, "run", "--standalone", "-n", h.namespace, example(t, "01-minimal"))
	p.says(t, "The account of the operator lacks rights: ")
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	lines := p.stderr.With("lacks rights")
	if len(lines) != 1 || !strings.Contains(lines[0], "get, patch, watch kopfexamples.kopf.dev in the namespace "+h.namespace) {
		t.Errorf("it says %q", lines)
	}
}
