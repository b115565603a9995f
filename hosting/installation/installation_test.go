package installation_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/hosting/installation"
)

// rights returns the rules of the host's roles by the names of the roles.
func rights(t *testing.T, admission *installation.Admission) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for document := range strings.SplitSeq(installation.Manifests(identity.Token, admission), "\n---\n") {
		var role struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Rules    []struct{ APIGroups, Resources, ResourceNames, Verbs []string }
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(role.Kind, "Role") || !strings.HasPrefix(role.Metadata.Name, "kopf-serve") || strings.HasSuffix(role.Metadata.Name, "-edit") {
			continue
		}
		name := strings.Trim(role.Metadata.Namespace+"/"+role.Metadata.Name, "/")
		for _, rule := range role.Rules {
			found[name] = append(found[name], strings.Join(rule.Verbs, ",")+":"+strings.Join(rule.Resources, ",")+":"+strings.Join(rule.ResourceNames, ","))
		}
	}
	return found
}

// TestRolesHaveWhatTheHostNeeds: webhook configurations and the secret of the certificate
// only with a server for admission, and no wildcards.
func TestRolesHaveWhatTheHostNeeds(t *testing.T) {
	const configurations = "create,patch,delete:validatingwebhookconfigurations,mutatingwebhookconfigurations:"
	without, with := rights(t, nil), rights(t, &installation.Admission{SecretNamespace: "kopf-system", SecretName: "cert"})
	if all := strings.Join(without["kopf-serve"], " "); strings.Contains(all, "webhook") || !strings.Contains(all, "get,list,watch,patch:wasmoperators,clusterwasmoperators:") {
		t.Errorf("without admission: %v", without)
	}
	if all := with["kopf-serve"]; all[len(all)-1] != configurations || len(all) != len(without["kopf-serve"])+1 {
		t.Errorf("with admission: %v", with)
	}
	if got := strings.Join(with["kopf-system/kopf-serve-admission"], " "); got != "create:secrets: get,patch:secrets:cert" {
		t.Errorf("the secret: %s", got)
	}
	for _, namespace := range []string{"", "own"} {
		quoted := strconv.Quote(cmp.Or(namespace, "kopf-system"))
		if text := installation.Lease(namespace, "hosts", true); strings.Count(text, "namespace: "+quoted+"}") < 2 || !strings.Contains(text, "resources: [leases], verbs: [get, list, create, update, delete]}") {
			t.Errorf("the role for the leases of hosts that share: %s", text)
		}
		text := installation.Lease(namespace, "hosts", false)
		for _, want := range []string{"name: kopf-serve-lease, namespace: " + quoted + "}", "resources: [leases], verbs: [create]}", `resourceNames: ["hosts"], verbs: [get, update]}`, `kind: Lease` + "\n" + `metadata: {name: "hosts", namespace: ` + quoted + "}"} {
			if !strings.Contains(text, want) {
				t.Errorf("the role for the lease has no %s: %s", want, text)
			}
		}
	}
	for _, roles := range []map[string][]string{without, with} {
		for name, rules := range roles {
			if strings.Contains(strings.Join(rules, " "), "*") {
				t.Errorf("%s has a wildcard: %v", name, rules)
			}
		}
	}
}

// TestNamesThatLookLikeNumbers: namespaces with digits only are texts in the manifests. The API server refuses numbers.
func TestNamesThatLookLikeNumbers(t *testing.T) {
	text := strings.Join([]string{
		installation.Lease("123", "1e3", true), installation.Lease("123", "1e3", false),
		installation.Manifests(identity.Token, &installation.Admission{SecretNamespace: "123", SecretName: "1e3"}),
		installation.WatchRoles([]installation.Watch{{Namespace: "123", Plural: "pods"}}),
	}, "\n---\n")
	named := 0
	for document := range strings.SplitSeq(text, "\n---\n") {
		var object struct {
			Metadata struct{ Name, Namespace any }
			Rules    []struct{ ResourceNames []any }
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Metadata.Namespace == "123" {
			named++
		}
		values := []any{object.Metadata.Name, object.Metadata.Namespace}
		for _, rule := range object.Rules {
			values = append(values, rule.ResourceNames...)
		}
		for _, value := range values {
			if _, isText := value.(string); value != nil && !isText {
				t.Errorf("%v is no text in %s", value, document)
			}
		}
	}
	if named != 10 {
		t.Errorf("%d objects in the namespace", named)
	}
}
