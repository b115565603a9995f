package hostile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/hosting/api"
)

// attack is one thing that an operator, or the author of a declaration, tries.
type attack struct {
	name  string
	quick bool // it is a part of the short form

	script string                          // of the operator, in JavaScript
	module func() []byte                   // in place of a script
	build  func(t *testing.T) []byte       // in place of both: it compiles the module
	spec   func(a *attacker) string        // more of the spec of the declaration, after a comma
	rules  string                          // more rights of the account: items of a list in YAML
	object string                          // the spec of the objects; "" is {}
	count  int                             // of the objects
	act    func(t *testing.T, a *attacker) // what happens after the declaration; nil: nothing

	named []sign                          // all must be there in the end
	held  sign                            // only the full form waits for it, because conditions of limits take some looks; nil: none
	also  func(t *testing.T, a *attacker) // checked after them; nil: nothing
}

// sign is a place where an attacker is named.
type sign func(a *attacker) error

// attacker is an attack in its namespace.
type attacker struct {
	*attack
	*house
	neighbour *neighbour
	namespace string
}

// operator is the name of the declarations of attackers, and tenant that of their accounts.
const operatorName, tenantName = "attacker", "tenant"

// tenant makes the account of a tenant, which may do everything with KopfExamples of its namespace.
func (h *house) tenant(t *testing.T, namespace, rules string) {
	t.Helper()
	h.ApplyIn(t, namespace, fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: tenant}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tenant}
rules:
- {apiGroups: [kopf.dev], resources: [kopfexamples], verbs: ['*']}
- {apiGroups: [''], resources: [events], verbs: [create]}
%s
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: tenant}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tenant}, subjects: [{kind: ServiceAccount, name: tenant}]}`, rules))
}

// declare declares an operator; more is added to its spec.
func (h *house) declare(t *testing.T, namespace, name, tag, account, more string) {
	t.Helper()
	h.ApplyIn(t, namespace, fmt.Sprintf("{apiVersion: hosting.kopf.dev/v1alpha1, kind: WasmOperator, metadata: {name: %s}, spec: {module: '%s', serviceAccountName: %s%s}}", name, h.registry.Ref(tag), account, more))
}

// status reads the status of a declaration; nil without one.
func (h *house) status(namespace, name string) (*api.Status, error) {
	object, err := h.Dynamic().Resource(declarations).Namespace(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	o, err := api.Decode(text)
	if err != nil {
		return nil, err
	}
	if o.Status != nil && o.Status.ObservedGeneration != o.Metadata.Generation {
		return nil, nil
	}
	return o.Status, nil
}

// attacks lets the attacker do what it does, and looks for the signs.
func (at *attack) attacks(t *testing.T, n *neighbour) {
	t.Helper()
	a := &attacker{attack: at, house: n.house, neighbour: n, namespace: n.Namespace(t)}
	a.tenant(t, a.namespace, at.rules)
	module := at.module
	if at.script != "" {
		module = func() []byte { return a.script(t, at.script) }
	}
	if at.build != nil {
		module = func() []byte { return at.build(t) }
	}
	if module != nil {
		a.pack(t, a.tag(), module())
		more := ""
		if at.spec != nil {
			more = ", " + at.spec(a)
		}
		a.house.declare(t, a.namespace, operatorName, a.tag(), tenantName, more)
	}
	for i := range at.count {
		a.create(t, fmt.Sprintf("obj-%d", i), at.object)
	}
	if at.act != nil {
		at.act(t, a)
	}
	for _, sign := range at.named {
		a.Eventually(t, patience, func() error { return sign(a) })
	}
	if at.held != nil && full() {
		a.Eventually(t, patience, func() error { return at.held(a) })
	}
	if at.also != nil {
		at.also(t, a)
	}
}

// script is house.script: the field hides the method.
func (a *attacker) script(t *testing.T, text string) []byte {
	t.Helper()
	return a.house.script(t, text)
}

// tag is that of the attacker's module.
func (a *attacker) tag() string { return a.namespace }

// create creates a KopfExample.
func (a *attacker) create(t *testing.T, name, spec string) {
	t.Helper()
	if spec == "" {
		spec = "{}"
	}
	a.ApplyIn(t, a.namespace, fmt.Sprintf("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: %s}, spec: %s}", name, spec))
}

// objects is the client of the attacker's KopfExamples.
func (a *attacker) objects() dynamic.ResourceInterface {
	return a.Dynamic().Resource(examples).Namespace(a.namespace)
}

// declared is the client of the attacker's declarations.
func (a *attacker) declared() dynamic.ResourceInterface {
	return a.Dynamic().Resource(declarations).Namespace(a.namespace)
}

// ready waits until the operator serves.
func (a *attacker) ready(t *testing.T) {
	t.Helper()
	a.Eventually(t, patience, func() error { return condition(api.Ready, "Serving", "")(a) })
}

// handled waits until the handler fn of an object has a result, and returns it.
func (a *attacker) handled(t *testing.T, name string) any {
	t.Helper()
	var result any
	a.Eventually(t, patience, func() error {
		object, err := a.objects().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var found bool
		if result, found, _ = unstructured.NestedFieldNoCopy(object.Object, "status", "fn"); !found {
			return fmt.Errorf("%s has no result: %v", name, object.Object)
		}
		return nil
	})
	return result
}

// refused checks that the API server refuses to create a declaration.
func (a *attacker) refused(t *testing.T, client dynamic.Interface, name, spec, says string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":"hosting.kopf.dev/v1alpha1","kind":"WasmOperator","metadata":{"name":%q},"spec":%s}`, name, spec)
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	_, err := client.Resource(declarations).Namespace(a.namespace).Create(t.Context(), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %q", spec, err, says)
	}
}

// patch merges JSON into the declaration of the attacker.
func (a *attacker) patch(t *testing.T, patch string, subresources ...string) {
	t.Helper()
	if _, err := a.declared().Patch(t.Context(), operatorName, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatal(err)
	}
}

// gone waits until the host does not know the operator any more.
func (a *attacker) gone(t *testing.T) {
	t.Helper()
	if err := a.declared().Delete(t.Context(), operatorName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	a.Eventually(t, patience, func() error {
		f, err := a.fact(t.Context(), a.namespace, operatorName)
		if err == nil && f != nil {
			err = fmt.Errorf("the operator is still there: %s", f.Reason)
		}
		return err
	})
}

// condition is a condition of the declaration with a reason and a part of its message.
func condition(of api.ConditionType, reason, says string) sign {
	return func(a *attacker) error {
		status, err := a.status(a.namespace, operatorName)
		if err != nil {
			return err
		}
		text, _ := json.Marshal(status)
		if status == nil {
			return fmt.Errorf("no status of the newest generation")
		}
		if c := status.Find(of); c == nil || c.Reason != reason || !strings.Contains(c.Message, says) {
			return fmt.Errorf("waiting for %s %s %q: %s", of, reason, says, text)
		}
		return nil
	}
}

// limit is a limit that has counted the operator, as the status page and metrics show.
func limit(name string) sign {
	return func(a *attacker) error {
		f, err := a.fact(context.Background(), a.namespace, operatorName)
		if err != nil {
			return err
		}
		if f != nil {
			for _, l := range f.Limits {
				if l.Name == name && l.Hits > 0 {
					return nil
				}
			}
		}
		text, _ := json.Marshal(f)
		return fmt.Errorf("waiting for hits of the limit %s: %s", name, text)
	}
}

// says is a record of the operator's own log.
func says(text string) sign {
	return func(a *attacker) error {
		quoted, _ := json.Marshal(text)
		lines := a.log.With(fmt.Sprintf(`"operator":"WasmOperator %s/%s"`, a.namespace, operatorName), strings.Trim(string(quoted), `"`))
		if len(lines) == 0 {
			all := a.log.With(a.namespace + "/" + operatorName)
			return fmt.Errorf("no record of it contains %q:\n%s", text, shortened(all[max(0, len(all)-5):]))
		}
		return nil
	}
}
