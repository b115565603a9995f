package installation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Watch is a resource that the host watches for its operators.
type Watch struct {
	Namespace string // empty: the whole cluster
	Group     string // empty: the core API
	Plural    string
}

// watchLabel marks the roles of watches, so that they can be found and removed.
const watchLabel = "hosting.kopf.dev/watches"

// WatchRoles returns roles in YAML that let the host list and watch these resources, and
// nothing else: one for each namespace, and one for the cluster.
func WatchRoles(watches []Watch) string {
	places := map[string]map[string][]string{}
	for _, w := range watches {
		if places[w.Namespace] == nil {
			places[w.Namespace] = map[string][]string{}
		}
		groups := places[w.Namespace]
		if !slices.Contains(groups[w.Group], w.Plural) {
			groups[w.Group] = append(groups[w.Group], w.Plural)
		}
	}
	var text strings.Builder
	text.WriteString("# What the host watches for the operators that are declared now.\n")
	separate := false
	for _, namespace := range slices.Sorted(maps.Keys(places)) {
		kind, metadata := "ClusterRole", fmt.Sprintf("{name: kopf-serve-watches, labels: {%s: \"true\"}}", watchLabel)
		if namespace != "" {
			kind, metadata = "Role", fmt.Sprintf("{name: kopf-serve-watches, namespace: %q, labels: {%s: \"true\"}}", namespace, watchLabel)
		}
		if separate {
			text.WriteString("---\n")
		}
		separate = true
		fmt.Fprintf(&text, `apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]sBinding
metadata: %[2]s
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %[1]s, name: kopf-serve-watches}
subjects:
- {kind: ServiceAccount, name: kopf-serve, namespace: kopf-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]s
metadata: %[2]s
rules:
`, kind, metadata)
		groups := places[namespace]
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			slices.Sort(groups[group])
			fmt.Fprintf(&text, "- {apiGroups: [%q], resources: [%s], verbs: [list, watch]}\n", group, strings.Join(groups[group], ", "))
		}
	}
	return text.String()
}
