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

// secretRole is the role for the secret of a certificate. A right to create cannot name the
// object.
const secretRole = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kopf-serve-admission, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kopf-serve-admission}
subjects:
- {kind: ServiceAccount, name: kopf-serve, namespace: kopf-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: kopf-serve-admission, namespace: %[1]s}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [create]}
- {apiGroups: [""], resources: [secrets], resourceNames: [%[2]s], verbs: [get, patch]}
`

// leaseRole is the role for the Lease of replicas of the host. A right to create cannot name the object.
const leaseRole = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kopf-serve-lease, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kopf-serve-lease}
subjects:
- {kind: ServiceAccount, name: kopf-serve, namespace: kopf-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: kopf-serve-lease, namespace: %[1]s}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [%[2]s], verbs: [get, update]}
`

// Lease returns the role in YAML, and its binding, that let several hosts elect a leader by a Lease. It follows the Manifests;
// the default of the namespace is kopf-system.
func Lease(namespace, name string) string {
	return fmt.Sprintf(leaseRole, cmp.Or(namespace, "kopf-system"), name)
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
		text += fmt.Sprintf(secretRole, admission.SecretNamespace, admission.SecretName)
	}
	return text
}
