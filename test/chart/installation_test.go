package chart_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/hosting/installation"
)

var update = flag.Bool("update", false, "write the files of the chart that come from the installation of hosts")

// TestChartHasTheInstallationOfHosts: the definitions, the policy and the rules are those of `kopf serve --install`.
func TestChartHasTheInstallationOfHosts(t *testing.T) {
	for name, text := range map[string]string{"definitions.yaml": strings.TrimSpace(api.Definitions) + "\n", "policy.yaml": policy(t), "rules.yaml": rules(t)} {
		path := folder + "/files/" + name
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		existing, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(existing)); diff != "" {
			t.Errorf("%s differs from the installation; run this test with -update:\n%s", name, diff)
		}
	}
}

// installed returns what `kopf serve --install` prints.
func installed(t *testing.T, mode identity.Mode, admission *installation.Admission) []*unstructured.Unstructured {
	t.Helper()
	objects, err := documents(installation.Manifests(mode, admission))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func policy(t *testing.T) string {
	t.Helper()
	var parts []string
	for _, object := range installed(t, identity.Token, nil) {
		if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") {
			parts = append(parts, marshalled(t, object.Object))
		}
	}
	return strings.Join(parts, "---\n")
}

// rules are those of the host, by what they depend on, and the roles for people.
func rules(t *testing.T) string {
	t.Helper()
	token, impersonate := hostRules(installed(t, identity.Token, nil)), hostRules(installed(t, identity.Impersonate, nil))
	admission := hostRules(installed(t, identity.Token, &installation.Admission{}))
	common := 0
	for common < min(len(token), len(impersonate)) && cmp.Equal(token[common], impersonate[common]) {
		common++
	}
	var people []any
	for _, object := range installed(t, identity.Token, nil) {
		if object.GetKind() == "ClusterRole" && object.GetName() != "kopf-serve" {
			role := map[string]any{"name": object.GetName(), "rules": object.Object["rules"]}
			if labels := object.GetLabels(); len(labels) > 0 {
				role["labels"] = labels
			}
			people = append(people, role)
		}
	}
	return marshalled(t, map[string]any{
		"host": token[:common], "token": token[common:], "impersonate": impersonate[common:], "admission": admission[len(token):], "people": people,
	})
}

func hostRules(objects []*unstructured.Unstructured) []any {
	for _, object := range objects {
		if object.GetKind() == "ClusterRole" && object.GetName() == "kopf-serve" {
			return object.Object["rules"].([]any)
		}
	}
	return nil
}

func marshalled(t *testing.T, document any) string {
	t.Helper()
	text, err := sigsyaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHostsHaveTheRightsOfTheInstallation: a release with the name kopf-serve in kopf-system has the same roles, bindings
// and policy, object by object, in each mode.
func TestHostsHaveTheRightsOfTheInstallation(t *testing.T) {
	secret := &installation.Admission{SecretNamespace: "kopf-system", SecretName: "kopf-serve-admission"}
	for name, tt := range map[string]struct {
		given     values
		mode      identity.Mode
		admission *installation.Admission
		lease     string // what --replicas adds
	}{
		"tokens":        {serveValues, identity.Token, nil, ""},
		"impersonation": {serveValues + "host: {identity: impersonate}", identity.Impersonate, nil, ""},
		"admission":     {serveValues + "host: {admission: {enabled: true}}", identity.Token, secret, ""},
		"replicas":      {serveValues + "replicas: 2", identity.Token, nil, installation.Lease("", "kopf-serve", false)},
		"shared":        {serveValues + "replicas: 2\nshared: true", identity.Token, nil, installation.Lease("", "kopf-serve", true)},
	} {
		t.Run(name, func(t *testing.T) {
			lease, err := documents(tt.lease)
			if err != nil {
				t.Fatal(err)
			}
			want, got := essence(append(installed(t, tt.mode, tt.admission), lease...)), essence(rendered(t, "kopf-serve", "kopf-system", tt.given))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReplicasOfAHostElectALeader: by the one Lease that their role is for.
func TestReplicasOfAHostElectALeader(t *testing.T) {
	objects := rendered(t, "hosts", "team", serveValues+"replicas: 3\nhost: {admission: {enabled: true}}")
	deployment := find(t, objects, "Deployment")
	arguments := marshalled(t, container(t, deployment)["args"])
	for _, want := range []string{"--replicas=leader\n", "--lease=team/hosts\n", `"secret":{"namespace":"team"`} {
		if !strings.Contains(arguments, want) {
			t.Errorf("no %s in the arguments: %s", want, arguments)
		}
	}
	if env := marshalled(t, container(t, deployment)["env"]); !strings.Contains(env, "name: POD_ID") || field(t, deployment, "spec.strategy.type") != "RollingUpdate" {
		t.Errorf("the name of the replica comes from %s; the strategy: %v", env, field(t, deployment, "spec.strategy"))
	}
	if got := fmt.Sprint(field(t, find(t, objects, "PodDisruptionBudget"), "spec.maxUnavailable")); got != "1" {
		t.Errorf("the budget allows %s", got)
	}
	if alone := marshalled(t, container(t, find(t, rendered(t, "hosts", "team", serveValues), "Deployment"))["args"]); strings.Contains(alone, "replicas") {
		t.Errorf("one host: %s", alone)
	}
}

// essence is what objects say about rights, definitions and the policy, by kind and name.
func essence(objects []*unstructured.Unstructured) map[string]map[string]any {
	kinds := []string{"Lease", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount", "CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
	found := map[string]map[string]any{}
	for _, object := range objects {
		if !slices.Contains(kinds, object.GetKind()) {
			continue
		}
		parts := maps.Clone(object.Object)
		delete(parts, "metadata")
		for label, value := range object.GetLabels() {
			if strings.HasPrefix(label, "rbac.") {
				parts[label] = value
			}
		}
		found[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = parts
	}
	return found
}
