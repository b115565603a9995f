package takeover_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-wasm/kopf/test/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// definition is the operator: a creation that needs four attempts (unless the
// object is easy), an update, and a deletion with a finalizer.
const definition = `{"operator": {"handlers": [
	{"name": "create_fn", "decorators": [{"type": "create", "resource": "kopfexamples"}],
	 "do": [{"if": {"spec_has": "easy"}, "do": [{"return": {"easy": true}}]},
	        {"if": {"retry_lt": 3}, "do": [{"temporary": {"msg": "again", "delay": 3}}]}, {"return": {"hard": true}}]},
	{"name": "update_fn", "decorators": [{"type": "update", "resource": "kopfexamples"}]},
	{"name": "delete_fn", "decorators": [{"type": "delete", "resource": "kopfexamples"}],
	 "do": [{"if": {"retry_lt": 1}, "do": [{"temporary": {"msg": "hold", "delay": 3}}]}]}
]}}`

const object = `
apiVersion: kopf.dev/v1
kind: KopfExample
metadata: {name: NAME}
spec: {EASE: true}
`

// newSetup prepares a namespace for both.
func newSetup(t *testing.T) (*setup, *clustertest.ControlPlane) {
	t.Helper()
	s := &setup{calls: &calls{}, reference: reference(t), module: buildGuest(t), caseFile: filepath.Join(t.TempDir(), "case.json")}
	cluster := clustertest.Cluster(t)
	s.kubeconfig, s.namespace = cluster.Kubeconfig(), cluster.Namespace(t)
	if err := os.WriteFile(s.caseFile, []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	crds, err := os.ReadFile(root + "/test/conformance/crds/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, string(crds))
	return s, cluster
}

func TestTakeoverAndReturn(t *testing.T) {
	s, cluster := newSetup(t)
	objects := cluster.Resource(t, schema.GroupVersionKind{Group: "kopf.dev", Version: "v1", Kind: "KopfExample"}, s.namespace)
	create := func(name, ease string) {
		cluster.ApplyIn(t, s.namespace, strings.NewReplacer("NAME", name, "EASE", ease).Replace(object))
	}

	var want []call
	expect := func(by, handler, name string, retry int) {
		t.Helper()
		want = append(want, call{by, handler, name, retry})
		eventually(t, handler+" of "+name+" by "+by, func() bool { return slices.Contains(s.calls.all(), want[len(want)-1]) })
	}
	annotation := func(name, key string) string {
		t.Helper()
		got, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetAnnotations()["kopf.zalando.org/"+key]
	}
	stored := func(name string) {
		t.Helper()
		eventually(t, name+" to be stored as handled", func() bool {
			return annotation(name, "last-handled-configuration") != "" && annotation(name, "create_fn") == ""
		})
	}

	// The reference begins: one object is done, another one is in the middle of its retries.
	stop := s.start(t, "reference")
	create("easy1", "easy")
	create("hard", "hard")
	expect("reference", "create_fn", "easy1", 0)
	expect("reference", "create_fn", "hard", 0)
	stored("easy1")
	eventually(t, "the first attempt to be stored", func() bool { return strings.Contains(annotation("hard", "create_fn"), `"retries":1`) })
	stop()

	// Here it goes on with the second attempt, and handles what is new.
	stop = s.start(t, "guest")
	expect("guest", "create_fn", "hard", 1)
	create("easy2", "easy")
	expect("guest", "create_fn", "easy2", 0)
	stored("easy2")
	eventually(t, "the second attempt to be stored", func() bool { return strings.Contains(annotation("hard", "create_fn"), `"retries":2`) })
	stop()

	// Back to the reference, which leaves one attempt, and to the end here.
	stop = s.start(t, "reference")
	expect("reference", "create_fn", "hard", 2)
	eventually(t, "the third attempt to be stored", func() bool { return strings.Contains(annotation("hard", "create_fn"), `"retries":3`) })
	stop()
	stop = s.start(t, "guest")
	expect("guest", "create_fn", "hard", 3)
	stored("hard")

	// A change that one has handled is no change for the other.
	if _, err := objects.Patch(t.Context(), "easy1", types.MergePatchType, []byte(`{"spec":{"field":"changed"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("guest", "update_fn", "easy1", 0)
	eventually(t, "the update to be stored", func() bool {
		return strings.Contains(annotation("easy1", "last-handled-configuration"), "changed")
	})
	stop()

	// A deletion that was begun there is finished here.
	stop = s.start(t, "reference")
	if err := objects.Delete(t.Context(), "easy1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("reference", "delete_fn", "easy1", 0)
	eventually(t, "the deletion to be held", func() bool { return strings.Contains(annotation("easy1", "delete_fn"), `"retries":1`) })
	stop()
	stop = s.start(t, "guest")
	expect("guest", "delete_fn", "easy1", 1)
	eventually(t, "the object to be gone", func() bool {
		_, err := objects.Get(t.Context(), "easy1", metav1.GetOptions{})
		return err != nil
	})
	time.Sleep(time.Second) // for calls that should not be there
	stop()

	if diff := cmp.Diff(sorted(want), sorted(s.calls.all())); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// sorted ignores the order of calls of different objects.
func sorted(list []call) []call {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b call) int { return strings.Compare(a.Name, b.Name) })
	return list
}
