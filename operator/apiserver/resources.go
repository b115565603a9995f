package apiserver

import (
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// verbs are those of all resources.
var verbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// subverbs are those of all subresources.
var subverbs = []string{"get", "patch", "update"}

// builtin are the resources that operators use most.
var builtin = []selectors.Resource{
	resource("v1", "ConfigMap", "configmaps", "cm"), resource("v1", "Endpoints", "endpoints", "ep"), resource("v1", "Event", "events", "ev"),
	resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc"), resource("v1", "Pod", "pods", "po"),
	resource("v1", "Secret", "secrets"), resource("v1", "Service", "services", "svc"), resource("v1", "ServiceAccount", "serviceaccounts", "sa"),
	clusterwide("v1", "Namespace", "namespaces", "ns"), clusterwide("v1", "Node", "nodes", "no"), clusterwide("v1", "PersistentVolume", "persistentvolumes", "pv"),
	resource("apps/v1", "DaemonSet", "daemonsets", "ds"), resource("apps/v1", "Deployment", "deployments", "deploy"),
	resource("apps/v1", "ReplicaSet", "replicasets", "rs"), resource("apps/v1", "StatefulSet", "statefulsets", "sts"),
	resource("batch/v1", "CronJob", "cronjobs", "cj"), resource("batch/v1", "Job", "jobs"),
	resource("networking.k8s.io/v1", "Ingress", "ingresses", "ing"), resource("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", "netpol"),
	resource("rbac.authorization.k8s.io/v1", "Role", "roles"), resource("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
	clusterwide("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"), clusterwide("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings"),
	resource("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa"), resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb"),
	resource("coordination.k8s.io/v1", "Lease", "leases"), clusterwide("storage.k8s.io/v1", "StorageClass", "storageclasses", "sc"),
	clusterwide("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", "crd"),
}

// withStatus are the built-in kinds whose status is a subresource.
var withStatus = map[string]bool{
	"Pod": true, "Service": true, "Namespace": true, "Node": true, "PersistentVolume": true, "PersistentVolumeClaim": true, "DaemonSet": true, "Deployment": true,
	"ReplicaSet": true, "StatefulSet": true, "CronJob": true, "Job": true, "Ingress": true, "HorizontalPodAutoscaler": true, "PodDisruptionBudget": true,
	"CustomResourceDefinition": true,
}

func resource(apiVersion, kind, plural string, short ...string) selectors.Resource {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", group
	}
	r := selectors.Resource{
		Group: group, Version: version, Plural: plural, Kind: kind, Singular: strings.ToLower(kind),
		Shortcuts: short, Namespaced: true, Preferred: true, Verbs: verbs,
	}
	if isBuiltin := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io"); isBuiltin && withStatus[kind] {
		r.Subresources = []string{"status"}
	}
	return r
}

func clusterwide(apiVersion, kind, plural string, short ...string) selectors.Resource {
	r := resource(apiVersion, kind, plural, short...)
	r.Namespaced = false
	return r
}

// Guessed returns the resource of objects of a kind that nothing defines: its plural is formed
// as in English, and it has no subresources.
func Guessed(object dicts.Object) selectors.Resource {
	kind := dicts.LookupString(object, "kind")
	plural := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(plural, "y") && !strings.HasSuffix(plural, "ey"):
		plural = strings.TrimSuffix(plural, "y") + "ies"
	case strings.HasSuffix(plural, "s") || strings.HasSuffix(plural, "x") || strings.HasSuffix(plural, "ch"):
		plural += "es"
	default:
		plural += "s"
	}
	return resource(dicts.LookupString(object, "apiVersion"), kind, plural)
}

// discovery is the document about the core group, or about all other ones.
func (s *Server) discovery(core bool) dicts.Object {
	var groups []string
	versions := map[string][]string{}
	listed := map[string][]any{}
	for _, r := range s.resources {
		if (r.Group == "") != core {
			continue
		}
		if versions[r.Group] == nil {
			groups = append(groups, r.Group)
		}
		id := r.APIVersion()
		if listed[id] == nil {
			versions[r.Group] = append(versions[r.Group], r.Version)
		}
		listed[id] = append(listed[id], described(r))
	}
	items := []any{}
	for _, group := range groups {
		var list []any
		for _, version := range versions[group] {
			id := selectors.Resource{Group: group, Version: version}.APIVersion()
			list = append(list, dicts.Object{"version": version, "freshness": "Current", "resources": listed[id]})
		}
		items = append(items, dicts.Object{"metadata": dicts.Object{"name": group}, "versions": list})
	}
	return dicts.Object{"apiVersion": "apidiscovery.k8s.io/v2", "kind": "APIGroupDiscoveryList", "metadata": dicts.Object{}, "items": items}
}

func described(r selectors.Resource) dicts.Object {
	scope := "Cluster"
	if r.Namespaced {
		scope = "Namespaced"
	}
	doc := dicts.Object{
		"resource": r.Plural, "responseKind": dicts.Object{"group": r.Group, "version": r.Version, "kind": r.Kind}, "scope": scope,
		"singularResource": r.Singular, "verbs": dicts.List(r.Verbs), "shortNames": dicts.List(r.Shortcuts), "categories": dicts.List(r.Categories),
	}
	subresources := []any{}
	for _, name := range r.Subresources {
		subresources = append(subresources, dicts.Object{"subresource": name, "verbs": dicts.List(subverbs)})
	}
	doc["subresources"] = subresources
	return doc
}

// versions is the document about the versions of the core group, or about those of all other ones. Clients get it that do not ask for
// all resources at once, such as kubernetes.dynamic of Python.
func (s *Server) versions(core bool) dicts.Object {
	names, groups := []any{}, []any{}
	seen, versions := map[string]bool{}, map[string][]any{}
	var order []string
	for _, r := range s.resources {
		id := r.APIVersion()
		if (r.Group == "") != core || seen[id] {
			continue
		}
		seen[id] = true
		names = append(names, r.Version)
		if versions[r.Group] == nil {
			order = append(order, r.Group)
		}
		versions[r.Group] = append(versions[r.Group], dicts.Object{"groupVersion": id, "version": r.Version})
	}
	if core {
		return dicts.Object{"kind": "APIVersions", "versions": names}
	}
	for _, group := range order {
		groups = append(groups, dicts.Object{"name": group, "versions": versions[group], "preferredVersion": versions[group][0]})
	}
	return dicts.Object{"apiVersion": "v1", "kind": "APIGroupList", "groups": groups}
}

// listed is the document about the resources of the version at a path; nil: there is no such version.
func (s *Server) listed(path string) dicts.Object {
	var list []any
	var version string
	for _, r := range s.resources {
		if at, err := apipath.Of(apipath.Target{Group: r.Group, Version: r.Version}); err != nil || string(at) != "/"+path {
			continue
		}
		version = r.APIVersion()
		list = append(list, dicts.Object{
			"name": r.Plural, "singularName": r.Singular, "kind": r.Kind, "namespaced": r.Namespaced,
			"verbs": dicts.List(r.Verbs), "shortNames": dicts.List(r.Shortcuts), "categories": dicts.List(r.Categories),
		})
		for _, name := range r.Subresources {
			list = append(list, dicts.Object{
				"name": r.Plural + "/" + name, "singularName": "", "kind": r.Kind, "namespaced": r.Namespaced, "verbs": dicts.List(subverbs),
			})
		}
	}
	if list == nil {
		return nil
	}
	return dicts.Object{"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": version, "resources": list}
}
