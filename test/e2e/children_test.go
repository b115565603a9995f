package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/test/sources"
)

var (
	volumes = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "ephemeralvolumeclaims"}
	claims  = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// example builds one of the examples in Go, and returns the path of its module.
func example(t *testing.T, name string) string {
	t.Helper()
	sources.WatchGo(t, "examples")
	return once(t, name+".wasm", func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", out, "./"+name)
		cmd.Dir = repository + "/examples"
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		return cmd
	})
}

// TestChildren runs the example: children are created, adopted, watched, changed,
// and collected with their owners (G5).
func TestChildren(t *testing.T) {
	t.Parallel()
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		children(t, options{module: example(t, "02-children")}).collected(t)
	})
	t.Run("rust", func(t *testing.T) {
		t.Parallel()
		children(t, options{module: built(t, "rust-02-children")}).collected(t)
	})
	t.Run("javascript", func(t *testing.T) {
		t.Parallel()
		by := engine(t)
		children(t, options{module: childrenFolder + "operator.js", change: func(o *operator.Options) { o.Engine = by }})
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		children(t, byPython(options{}, pythonEngine(t), childrenFolder+"operator.py"))
	})
}

const childrenFolder = repository + "/examples/02-children/"

// children runs the example: children are created, adopted, watched, and changed.
func children(t *testing.T, o options) space {
	t.Helper()
	s := newSpace(t)
	for _, file := range []string{"crd.yaml", "obj.yaml"} {
		text, err := os.ReadFile(childrenFolder + file)
		if err != nil {
			t.Fatal(err)
		}
		s.ApplyIn(t, s.namespace, string(text))
	}
	s.ApplyIn(t, s.namespace, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: orphan}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: example.com/v1, kind: EphemeralVolumeClaim, metadata: {name: orphan}, spec: {size: 1Gi}}
---
{apiVersion: example.com/v1, kind: EphemeralVolumeClaim, metadata: {name: nothing}, spec: {}}`)
	o.wanted = true
	r := s.start(t, o)

	for _, name := range []string{"scratch", "orphan"} {
		var claim *unstructured.Unstructured
		s.until(t, "the claim of "+name+" has an owner", func() bool {
			claim = s.child(t, name)
			return claim != nil && len(claim.GetOwnerReferences()) == 1
		})
		if owner := claim.GetOwnerReferences()[0]; owner.Kind != "EphemeralVolumeClaim" || owner.Name != name {
			t.Errorf("the owner of %s is %+v", name, owner)
		}
		s.until(t, "the phase is in the status of "+name, func() bool { return s.volume(t, name)["phase"] == "Pending" })
	}
	if claim, _ := s.volume(t, "scratch")["applyClaim"].(map[string]any); claim["claim"] != "scratch" {
		t.Errorf("the result is %v", s.volume(t, "scratch"))
	}
	r.says(t, "nothing", "a volume needs a size")

	s.patchOf(t, volumes, "scratch", `{"metadata": {"labels": {"application": "other"}}}`)
	s.until(t, "the child has the label", func() bool { return s.child(t, "scratch").GetLabels()["application"] == "other" })
	s.patchOf(t, volumes, "scratch", `{"spec": {"size": "2Gi"}}`)
	r.says(t, "scratch", "failed permanently: the claim cannot be changed: ")
	return s
}

// collected deletes the owners, and waits until their children are deleted, too.
func (s space) collected(t *testing.T) {
	t.Helper()
	for _, name := range []string{"scratch", "orphan"} {
		if err := s.client(volumes).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"scratch", "orphan"} {
		s.Eventually(t, collection, func() error {
			claim := s.child(t, name)
			if claim == nil || claim.GetDeletionTimestamp() != nil { // the protection of claims needs a controller of its own
				return nil
			}
			return errors.New("the claim of " + name + " is not collected")
		})
	}
}

// collection is how long the garbage collector may take: it looks for new kinds of
// objects every 30 seconds only.
const collection = 3 * time.Minute

// child is the claim of this name; nil if there is none.
func (s space) child(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	claim, err := s.client(claims).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func (s space) volume(t *testing.T, name string) map[string]any {
	t.Helper()
	object, err := s.client(volumes).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status, _ := object.Object["status"].(map[string]any)
	return status
}
