package hostile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// neighbourScript behaves well. It keeps what others want to have.
const neighbourScript = `
kopf.operator({ name: "neighbour", version: "1.0" });
kopf.index("kopfexamples", function names({ name, namespace }) { return { [name]: namespace }; });
kopf.on.validate("kopfexamples", function check({ logger }) { logger.debug("reviewed"); });
kopf.on.create("kopfexamples", function handle({ name, memo, logger }) {
  memo.set("secret", "of " + name);
  kopf.memo.set("secret", "of the neighbour");
  logger.info("handled");
  return { secret: kopf.config("password") === "hunter2" };
});
`

// neighbour is an operator that behaves well.
type neighbour struct {
	*house
	namespace string
}

// objects is how many objects the neighbour handles in each wave.
const objects = 100

// neighbour declares it.
func (h *house) neighbour(t *testing.T) *neighbour {
	t.Helper()
	n := &neighbour{h, h.Namespace(t)}
	n.pack(t, "neighbour", h.script(t, neighbourScript))
	h.tenant(t, n.namespace, "")
	h.ApplyIn(t, n.namespace, "{apiVersion: v1, kind: Secret, metadata: {name: neighbour}, stringData: {password: hunter2}}")
	h.declare(t, n.namespace, "neighbour", "neighbour", "tenant", ", grants: {config: {password: hunter2}}")
	h.Eventually(t, patience, func() error { return n.serving() })
	return n
}

func (n *neighbour) serving() error {
	status, err := n.status(n.namespace, "neighbour")
	if err == nil && (status == nil || !status.Is("Ready")) {
		err = fmt.Errorf("the neighbour does not serve: %+v", status)
	}
	return err
}

// handles creates the objects of a wave a few at a time, and waits until the neighbour has handled them.
func (n *neighbour) handles(t *testing.T, wave string) {
	t.Helper()
	client := n.Dynamic().Resource(examples).Namespace(n.namespace)
	began := map[string]time.Time{}
	var took []time.Duration
	look := func() error {
		list, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: "wave=" + wave})
		if err != nil {
			return err
		}
		for i := range list.Items {
			name := list.Items[i].GetName()
			secret, _, _ := unstructured.NestedBool(list.Items[i].Object, "status", "handle", "secret")
			if since, waits := began[name]; waits && secret {
				took = append(took, time.Since(since))
				delete(began, name)
			}
		}
		if len(began) > 0 {
			return fmt.Errorf("the neighbour has handled %d of %d objects", len(took), objects)
		}
		return nil
	}
	for i := range objects {
		name := fmt.Sprintf("%s-%d", wave, i)
		began[name] = time.Now()
		n.ApplyIn(t, n.namespace, fmt.Sprintf("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: %s, labels: {wave: %s}}, spec: {}}", name, wave))
		_ = look() // looked at again below
	}
	n.Eventually(t, patience, look)
	slices.Sort(took)
	t.Logf("the neighbour has handled %d objects, as seen by polling: median %v, p99 %v", len(took), took[len(took)/2], took[len(took)*99/100])
}
