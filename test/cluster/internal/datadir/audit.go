package datadir

import (
	"fmt"
	"strings"
)

// Names of the audit files in the folder.
const (
	AuditLogFile    = "audit.log"
	AuditPolicyFile = "audit-policy.yaml"
)

// Everybody as the only audited user means all users, the control plane too.
const Everybody = "all"

// AuditUsers turns the list of a command line into the users to be recorded:
// "" means the operators.
func AuditUsers(list string) []string {
	if strings.TrimSpace(list) == "" {
		return Operators()
	}
	users := strings.Split(list, ",")
	for i := range users {
		users[i] = strings.TrimSpace(users[i])
	}
	return users
}

// WriteAuditPolicy writes the policy for the users.
func (f *Folder) WriteAuditPolicy(users []string) error {
	return f.write(AuditPolicyFile, []byte(auditPolicy(users)))
}

// auditPolicy records the writes of the users with the bodies of request and
// response, their reads without, and nothing of the others.
//
// See https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
func auditPolicy(users []string) string {
	who := ""
	if len(users) != 1 || users[0] != Everybody {
		quoted := make([]string, len(users))
		for i, user := range users {
			quoted[i] = fmt.Sprintf("%q", user)
		}
		who = fmt.Sprintf(", users: [%s]", strings.Join(quoted, ", "))
	}
	return fmt.Sprintf(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: RequestResponse, verbs: [create, update, patch, delete, deletecollection]%[1]s}
- {level: Metadata%[1]s}
- {level: None}
`, who)
}
