package clustertest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// configMap is an object of which the tests need no more than the existence.
const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"

// gone returns nil if there is no such object any more.
func gone(t *testing.T, client dynamic.ResourceInterface, name string) error {
	t.Helper()
	_, err := client.Get(t.Context(), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s is still there", name)
}

// TestClusterHasItsVersion: the API server is that of test/cluster, or that of $KOPF_KUBERNETES, which `make matrix` sets.
func TestClusterHasItsVersion(t *testing.T) {
	want := os.Getenv("KOPF_KUBERNETES")
	if want == "" {
		if os.Getenv(kubeconfigVar) != "" {
			t.Skip("the cluster is not the embedded one")
		}
		want = embeddedVersion(t)
	}
	client, err := discovery.NewDiscoveryClientForConfig(Cluster(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if got.GitVersion != want {
		t.Errorf("the API server is of Kubernetes %s, not %s", got.GitVersion, want)
	}
}

// embeddedVersion is the version of Kubernetes in the go.mod of test/cluster.
func embeddedVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../cluster/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^\tk8s\.io/kubernetes (v\S+)$`).FindSubmatch(text)
	if version == nil {
		t.Fatal("test/cluster/go.mod requires no k8s.io/kubernetes")
	}
	return string(version[1])
}

// TestNamespacesGoAway: in a cluster that the tests did not start, nothing is left of them.
func TestNamespacesGoAway(t *testing.T) {
	cluster := Cluster(t)
	var name string
	t.Run("inner", func(t *testing.T) {
		foreign := *cluster
		foreign.server = nil
		name = foreign.Namespace(t)
		cluster.ApplyIn(t, name, fmt.Sprintf(configMap, "inner"))
		cluster.ApplyIn(t, name, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: claim}, "+
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}")
	})
	cluster.Eventually(t, 3*time.Minute, func() error {
		return gone(t, cluster.Dynamic().Resource(namespaces), name)
	})
}

func TestChildrenAreCollected(t *testing.T) {
	cluster := Cluster(t)
	namespace := cluster.Namespace(t)
	parent := cluster.ApplyIn(t, namespace, fmt.Sprintf(configMap, "parent"))[0]
	cluster.ApplyIn(t, namespace, fmt.Sprintf(configMap, "foreign"))
	cluster.ApplyIn(t, namespace, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: child
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: parent, uid: %s}]
`, parent.GetUID()))

	client := cluster.Dynamic().Resource(configMaps).Namespace(namespace)
	if err := client.Delete(t.Context(), "parent", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, 3*time.Minute, func() error { return gone(t, client, "child") })
	if err := gone(t, client, "foreign"); err == nil {
		t.Error("an object without an owner was collected")
	}
}

// things adds the kind Thing in two versions, and a thing of each.
const things = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1, served: true, storage: true, schema: &any {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: *any}
---
{apiVersion: %[1]s/v1, kind: Thing, metadata: {name: one}, spec: {field: 1}}
---
{apiVersion: %[1]s/v2, kind: Thing, metadata: {name: two}, spec: {field: 2}}
`

func TestApply(t *testing.T) {
	cluster := Cluster(t)
	namespace := cluster.Namespace(t)
	group := namespace + ".example.com" // not that of an earlier run
	made := cluster.ApplyIn(t, namespace, fmt.Sprintf(things, group))
	if len(made) != 3 || made[2].GetNamespace() != namespace || made[2].GetUID() == "" {
		t.Fatalf("got %v, want a definition and two things in %s", made, namespace)
	}

	changed := cluster.ApplyIn(t, namespace, fmt.Sprintf(
		"{apiVersion: %s/v1, kind: Thing, metadata: {name: one}, spec: {other: 3}}", group))[0]
	spec, _, _ := unstructured.NestedMap(changed.Object, "spec")
	if len(spec) != 1 || spec["other"] != int64(3) {
		t.Errorf("after the second time: got spec %v, want only other=3", spec)
	}
	client := cluster.Resource(t, schema.GroupVersionKind{Group: group, Version: "v2", Kind: "Thing"}, namespace)
	if _, err := client.Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Errorf("in the other version: %v", err)
	}
}

func TestAuditLog(t *testing.T) {
	cluster := Cluster(t)
	namespace := cluster.Namespace(t)
	config, err := clientcmd.BuildConfigFromFlags("", cluster.KubeconfigAs(t, "operator3b"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	cluster.ApplyIn(t, namespace, fmt.Sprintf(configMap, "by-admin"))
	patch := []byte(`{"data":{"key":"value"}}`)
	_, err = client.Resource(configMaps).Namespace(namespace).
		Patch(t.Context(), "by-admin", "application/merge-patch+json", patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}

	var found []AuditEvent
	cluster.Eventually(t, time.Minute, func() error {
		for _, event := range cluster.AuditLog(t) {
			if event.Object.Namespace == namespace {
				found = append(found, event)
			}
		}
		if len(found) == 0 {
			return errors.New("no events")
		}
		return nil
	})
	got := found[0]
	if len(found) != 1 || got.User.Name != "operator3b" || got.Verb != "patch" || got.Object.Name != "by-admin" ||
		got.Response.Code != 200 || string(got.RequestBody) != string(patch) {
		t.Errorf("got %+v, want the patch of operator3b alone", found)
	}
}
