package chart_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

const (
	root   = "../.."
	folder = root + "/charts/kopf"
)

// values are those of the chart, in YAML.
type values string

const (
	runValues   values = "operator: {modules: ['oci://example.com/operator:v1']}\nrules: {namespaces: {shops: [{apiGroups: [example.com], resources: [shops], verbs: [get, list]}]}}\n"
	serveValues values = "mode: serve\n"
)

// render renders the chart as `helm install NAME -n NAMESPACE` does, after the check of the values by their schema.
func render(name, namespace string, given values) ([]*unstructured.Unstructured, error) {
	chart, err := loader.LoadDir(folder)
	if err != nil {
		return nil, err
	}
	set := map[string]any{}
	if err := sigsyaml.Unmarshal([]byte(given), &set); err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, set, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(file) != ".yaml" {
			continue
		}
		more, err := documents(files[file])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

func documents(text string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// rendered is render for values that are right.
func rendered(t *testing.T, name, namespace string, given values) []*unstructured.Unstructured {
	t.Helper()
	objects, err := render(name, namespace, given)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// find returns the only object of a kind.
func find(t *testing.T, objects []*unstructured.Unstructured, kind string) map[string]any {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == kind {
			found = append(found, object)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects are %ss", len(found), kind)
	}
	return found[0].Object
}

// field returns a part of an object by its path with dots.
func field(t *testing.T, object map[string]any, at string) any {
	t.Helper()
	got, ok, err := unstructured.NestedFieldNoCopy(object, strings.Split(at, ".")...)
	if err != nil || !ok {
		t.Fatalf("%s: %v in %v", at, err, object)
	}
	return got
}

// container returns the container of the Deployment.
func container(t *testing.T, deployment map[string]any) map[string]any {
	t.Helper()
	return field(t, deployment, "spec.template.spec.containers").([]any)[0].(map[string]any)
}

// everything are values that switch on each part of the chart that a mode has.
const everything values = `
image: {digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'}
imagePullSecrets: [mine]
registryCredentials: registries
traces: http://collector.monitoring:4318
args: [--verbose]
env: [{name: A, value: b}]
podLabels: {a: b}
podAnnotations: {a: b}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{operator: Exists}]
priorityClassName: system-cluster-critical
affinity: {nodeAffinity: {}}
serviceAccount: {annotations: {a: b}}
volumes: [{name: more, configMap: {name: more}}]
volumeMounts: [{name: more, mountPath: /more}]
cache: {existingClaim: cache}
networkPolicy: {egress: [{ports: [{port: 443}]}]}
podDisruptionBudget: {enabled: true, maxUnavailable: 1}
metrics: {serviceMonitor: {enabled: true, labels: {a: b}, authorization: {credentials: {name: a, key: b}}}, dashboard: {enabled: true}, alerts: {enabled: true, labels: {a: b}}}
`

const (
	everythingRun   = everything + "replicas: 2\noperator: {modules: ['oci://example.com/operator:v1'], namespaces: [a, 'b-*'], peering: p, allowWanted: true, admission: {name: a.example.com}}\nrules: {cluster: [{nonResourceURLs: [/x], verbs: [get]}], namespaces: {a: [{apiGroups: [''], resources: [pods], verbs: [list]}], b: [{apiGroups: [''], resources: [pods], verbs: [list]}]}}\n"
	everythingServe = everything + "mode: serve\nreplicas: 2\nhost: {identity: impersonate, namespaces: [a], allowRegistries: [example.com], allowPrivateHosts: [mail.team.svc], limits: {MaxMemory: 64Mi, LoopRate: 3}, admission: {enabled: true}}\n"
)
