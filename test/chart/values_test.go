package chart_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	sigsyaml "sigs.k8s.io/yaml"
)

func TestChartHasNoLint(t *testing.T) {
	for name, given := range map[string]values{"run": runValues, "serve": serveValues, "everything of run": everythingRun, "everything of serve": everythingServe} {
		set := map[string]any{}
		if err := sigsyaml.Unmarshal([]byte(given), &set); err != nil {
			t.Fatal(err)
		}
		result := lint.AllWithKubeVersion(folder, set, "namespace", &chartutil.DefaultCapabilities.KubeVersion)
		for _, message := range result.Messages {
			if message.Severity >= support.WarningSev {
				t.Errorf("%s: %s", name, message)
			}
		}
	}
}

// TestWrongValuesAreNamed: by the schema, or by the chart.
func TestWrongValuesAreNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		given values
		want  string
	}{
		"no module":             {"", "operator.modules: name the module"},
		"no rights":             {"operator: {modules: ['oci://example.com/a:v1']}", "kopf manifest MODULE --values"},
		"unknown mode":          {"mode: both", "mode"},
		"unknown value":         {runValues + "replica: 1", "replica"},
		"unknown inner value":   {runValues + "image: {name: x}", "image"},
		"half a pod":            {runValues + "replicas: 0.5", "replicas"},
		"no reference":          {"operator: {modules: [operator]}", "/operator/modules/0"},
		"both scopes":           {runValues + "operator: {modules: ['oci://example.com/a:v1'], clusterwide: true, namespaces: [a]}", "not both"},
		"short digest":          {runValues + "image: {digest: 'sha256:12'}", "digest"},
		"image with a tag":      {runValues + "image: {repository: 'oci://example.com/kopf'}", "repository"},
		"rule without verbs":    {"operator: {modules: ['oci://a.b/a:v1']}\nrules: {cluster: [{apiGroups: ['']}]}", "verbs"},
		"list of rules":         {"operator: {modules: ['oci://a.b/a:v1']}\nrules: []", "rules"},
		"module of a host":      {"mode: serve\noperator: {modules: ['oci://a.b/a:v1']}", "is for mode=run"},
		"rules of a host":       {"mode: serve\nrules: {cluster: [{verbs: [get]}]}", "is for mode=run"},
		"namespaces of a host":  {"mode: serve\noperator: {namespaces: [a]}", "is for mode=run"},
		"webhooks of a host":    {"mode: serve\noperator: {admission: {name: a.example.com}}", "is for mode=run"},
		"host of an operator":   {runValues + "host: {namespaces: [a]}", "is for mode=serve"},
		"reviews of no host":    {runValues + "host: {admission: {enabled: true}}", "is for mode=serve"},
		"identity of a host":    {"mode: serve\nhost: {identity: root}", "identity"},
		"traces without scheme": {runValues + "traces: 'collector:4318'", "traces"},
		"traces with a secret":  {serveValues + "traces: 'http://me:secret@collector:4318'", "traces"},
		"interval without unit": {runValues + "metrics: {serviceMonitor: {interval: '30'}}", "interval"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Count(string(tt.given), "operator: {") > 1 {
				tt.given = tt.given[strings.LastIndex(string(tt.given), "operator: {"):] + "\n" + runValues[strings.Index(string(runValues), "rules:"):]
			}
			if _, err := render("mailer", "shops", tt.given); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestMonitoringIsOffByDefault: it needs definitions that not each cluster has.
func TestMonitoringIsOffByDefault(t *testing.T) {
	for _, given := range []values{runValues, serveValues} {
		for _, object := range rendered(t, "kopf-serve", "kopf-system", given) {
			if kind := object.GetKind(); kind == "ServiceMonitor" || kind == "PrometheusRule" || kind == "ConfigMap" || kind == "PodDisruptionBudget" {
				t.Errorf("there is a %s", kind)
			}
		}
	}
}

// TestObjectsOfAReleaseDoNotCollide: two operators in one namespace, and equal names in two namespaces.
func TestObjectsOfAReleaseDoNotCollide(t *testing.T) {
	seen := map[string]string{}
	given := everythingRun
	for _, release := range [][2]string{{"one", "a"}, {"two", "a"}, {"one", "b"}} {
		for _, object := range rendered(t, release[0], release[1], values(strings.ReplaceAll(string(given), "{a: [{apiGroups", "{"+release[1]+": [{apiGroups"))[0:]) {
			if object.GetKind() == "Role" || object.GetKind() == "RoleBinding" {
				continue // in the namespaces that the operator serves
			}
			name := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
			if other, ok := seen[name]; ok {
				t.Errorf("%s is of %s and %v", name, other, release)
			}
			seen[name] = strings.Join(release[:], " in ")
		}
	}
}

// TestTracesAreSentToTheCollectorOfTheValues: in both modes, and none by default.
func TestTracesAreSentToTheCollectorOfTheValues(t *testing.T) {
	const flag = "--traces=http://collector.monitoring:4318"
	for given, want := range map[values]bool{runValues: false, serveValues: false, everythingRun: true, everythingServe: true} {
		args := container(t, find(t, rendered(t, "mailer", "shops", given), "Deployment"))["args"].([]any)
		if slices.Contains(args, any(flag)) != want || strings.Contains(fmt.Sprint(args), "--traces") != want {
			t.Errorf("the arguments are %v", args)
		}
	}
}

// TestNamesOfDigitsAreTexts: a namespace may have one, and a release, too.
func TestNamesOfDigitsAreTexts(t *testing.T) {
	var check func(where string, value any)
	check = func(where string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, item := range value {
				check(where+"."+key, item)
			}
		case []any:
			for _, item := range value {
				check(where, item)
			}
		case int64, float64:
			if n := fmt.Sprint(value); n == "123" || n == "456" || n == "789" {
				t.Errorf("%s is the number %s", where, n)
			}
		}
	}
	for _, given := range []values{everythingServe, "serviceAccount: {name: '789'}\n" + runValues + "replicas: 2\n", values(strings.ReplaceAll(string(runValues), "shops: [", "'789': ["))} {
		for _, object := range rendered(t, "123", "456", given) {
			check(object.GetKind(), object.Object)
		}
	}
}

// TestLargeLimitsAreNumbers: Helm reads each number of a file as a float, whose text would be 6.7108864e+07.
func TestLargeLimitsAreNumbers(t *testing.T) {
	given := serveValues + "host: {limits: {MaxMemory: 67108864, LogLimit: 1.5, MaxFiles: 64Mi}}\n"
	args := container(t, find(t, rendered(t, "mailer", "shops", given), "Deployment"))["args"].([]any)
	for _, want := range []any{"--limit=MaxMemory=67108864", "--limit=LogLimit=1.5", "--limit=MaxFiles=64Mi"} {
		if !slices.Contains(args, want) {
			t.Errorf("there is no %s in %v", want, args)
		}
	}
}
