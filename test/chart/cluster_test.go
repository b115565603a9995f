package chart_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/test/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// prometheus are the definitions of the Prometheus operator, without their fields.
const prometheus = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {plural: servicemonitors, singular: servicemonitor, kind: ServiceMonitor}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: prometheusrules.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {plural: prometheusrules, singular: prometheusrule, kind: PrometheusRule}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestAPIServerAcceptsTheChart: a server-side dry run of all objects with strict validation, so unknown fields are errors.
// Definitions, roles and bindings are really applied.
func TestAPIServerAcceptsTheChart(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Cluster(t)
	cluster.Apply(t, prometheus)
	for name, given := range map[string]values{"run": runValues, "serve": serveValues, "everything of run": everythingRun, "everything of serve": everythingServe} {
		t.Run(name, func(t *testing.T) {
			namespace := cluster.Namespace(t)
			text := strings.NewReplacer("{shops: [", "{"+namespace+": [", "{a: [{api", "{"+namespace+": [{api", ", b: [{apiGroups: [''], resources: [pods], verbs: [list]}]", "").Replace(string(given))
			for _, object := range rendered(t, "mailer-"+namespace, namespace, values(text)) {
				if kind := object.GetKind(); strings.HasPrefix(kind, "CustomResource") || strings.Contains(kind, "Role") || kind == "ServiceAccount" {
					cluster.Apply(t, marshalled(t, object.Object))
				}
				client := cluster.Resource(t, object.GroupVersionKind(), object.GetNamespace())
				object.SetName("dry-" + object.GetName()) // so that nothing of another test is meant
				if strings.HasPrefix(object.GetKind(), "CustomResource") {
					continue // its name is made of its plural
				}
				options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
				if _, err := client.Create(t.Context(), object, options); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}
