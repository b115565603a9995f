// Package installation has the manifests that a cluster needs for hosted operators.
package installation

import (
	"cmp"
	_ "embed"
	"fmt"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/identity"
)

var (
	//go:embed manifests/policy.yaml
	policy string

	//go:embed manifests/roles.yaml
	roles string
)

// rights are the rules that let the host make requests as service accounts. They end the
// manifest of the roles.
var rights = map[identity.Mode]string{
	identity.Token: `# Every token that the host requests names one account.
- {apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}
`,
	identity.Impersonate: `- {apiGroups: [""], resources: [serviceaccounts], verbs: [impersonate, get]}
`,
}

// Admission is what the host needs for admission handlers of its operators.
type Admission struct {
	// SecretNamespace and SecretName identify the secret of its certificate; empty: it has none.
	SecretNamespace, SecretName string
}

// admissionRights are the rules about webhook configurations. The API has no way to restrict
// a role to names that begin or end with a text.
const admissionRights = `- {apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations, mutatingwebhookconfigurations], verbs: [create, patch, delete]}
`

// Names and namespaces that users choose are in quotes below: names like 123 and 1e3 would be numbers.

// objectRole is the role for one object, which the host creates, in a namespace, and its binding: the name of both, the namespace, the
// group, the resource, the name of the object, and the verbs for it. A right to create cannot name the object.
const objectRole = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: %[2]q}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects:
- {kind: ServiceAccount, name: kopf-serve, namespace: kopf-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: %[2]q}
rules:
- {apiGroups: [%[3]s], resources: [%[4]s], verbs: [create]}
- {apiGroups: [%[3]s], resources: [%[4]s], resourceNames: [%[5]q], verbs: [%[6]s]}
`

// leasesRole is the role for the Leases of hosts that share the objects, in a namespace, and its binding. The names of the members are
// random, and no rule can name those.
const leasesRole = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kopf-serve-lease, namespace: %[1]q}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kopf-serve-lease}
subjects:
- {kind: ServiceAccount, name: kopf-serve, namespace: kopf-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: kopf-serve-lease, namespace: %[1]q}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, create, update, delete]}
`

// lease is the Lease in a namespace, which the hosts write.
const lease = `---
# Without it, the first host would wait as long as a former one could live.
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: %q, namespace: %q}
`

// Lease returns a Lease in YAML, and the role and its binding that let several hosts elect a leader by it, and share the objects. It
// follows the Manifests; the default of the namespace is kopf-system.
func Lease(namespace, name string, shared bool) string {
	namespace = cmp.Or(namespace, "kopf-system")
	if shared {
		return fmt.Sprintf(leasesRole, namespace) + fmt.Sprintf(lease, name, namespace)
	}
	return fmt.Sprintf(objectRole, "kopf-serve-lease", namespace, "coordination.k8s.io", "leases", name, "get, update") + fmt.Sprintf(lease, name, namespace)
}

// Manifests returns all manifests in YAML: the definitions, the policy about service
// accounts, and the account of the host with its roles for a mode, and for admission handlers
// unless admission is nil.
func Manifests(mode identity.Mode, admission *Admission) string {
	text := api.Definitions + "---\n" + policy + "---\n" + roles + rights[mode]
	if admission == nil {
		return text
	}
	text += admissionRights
	if admission.SecretName != "" {
		text += fmt.Sprintf(objectRole, "kopf-serve-admission", admission.SecretNamespace, `""`, "secrets", admission.SecretName, "get, patch")
	}
	return text
}
