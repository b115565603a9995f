// Package installation has the manifests that a cluster needs for hosted operators.
package installation

import (
	_ "embed"

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

// Manifests returns all manifests in YAML: the definitions, the policy about service
// accounts, and the account of the host with its roles for a mode.
func Manifests(mode identity.Mode) string {
	return api.Definitions + "---\n" + policy + "---\n" + roles + rights[mode]
}
