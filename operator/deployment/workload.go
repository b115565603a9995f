package deployment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// errNotPublished is the error for modules that pods and hosts cannot read.
var errNotPublished = errors.New("the module is a file of this machine: put it into a registry by kopf push, and name oci://REFERENCE")

// Ports of the container.
const (
	probePort   = 8080
	webhookPort = 9443
)

// Deployment returns the workload that runs modules by `kopf run` in an image with the program kopf as its entry point:
// a Deployment, a Service if there are admission handlers, and a PodDisruptionBudget if there are replicas. Without replicas, one
// pod runs at a time, as the reference demands. The pod meets the restricted Pod Security Standard, with a read-only root file system.
//
// Errors: a module is no reference of a registry.
//
// Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
func (o *Operator) Deployment(image string, modules []string) ([]dicts.Object, error) {
	if err := published(modules); err != nil {
		return nil, err
	}
	selected := dicts.Object{"app.kubernetes.io/name": o.Name}
	ports := []any{dicts.Object{"name": "probes", "containerPort": probePort}}
	var objects []dicts.Object
	if o.Admission != "" {
		ports = append(ports, dicts.Object{"name": "webhooks", "containerPort": webhookPort})
		objects = append(objects, dicts.Object{
			"apiVersion": "v1", "kind": "Service", "metadata": o.metadata(o.Namespace),
			"spec": dicts.Object{"selector": selected, "ports": []any{dicts.Object{"name": "webhooks", "port": 443, "targetPort": "webhooks"}}},
		})
	}
	container := dicts.Object{
		"name": "kopf", "image": image, "args": dicts.List(append(append([]string{"run"}, modules...), o.flags()...)), "ports": ports,
		"env":             []any{dicts.Object{"name": "POD_ID", "valueFrom": dicts.Object{"fieldRef": dicts.Object{"fieldPath": "metadata.name"}}}, dicts.Object{"name": "XDG_CACHE_HOME", "value": "/cache"}},
		"livenessProbe":   dicts.Object{"httpGet": dicts.Object{"path": "/healthz", "port": "probes"}},
		"resources":       dicts.Object{"requests": dicts.Object{"cpu": "10m", "memory": "64Mi"}, "limits": dicts.Object{"memory": "512Mi"}},
		"securityContext": dicts.Object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": dicts.Object{"drop": []any{"ALL"}}},
		"volumeMounts":    []any{dicts.Object{"name": "cache", "mountPath": "/cache"}, dicts.Object{"name": "tmp", "mountPath": "/tmp"}},
	}
	pod := dicts.Object{
		"serviceAccountName": o.Name, "containers": []any{container},
		"securityContext": dicts.Object{"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": dicts.Object{"type": "RuntimeDefault"}},
		"volumes":         []any{dicts.Object{"name": "cache", "emptyDir": dicts.Object{}}, dicts.Object{"name": "tmp", "emptyDir": dicts.Object{}}},
	}
	strategy := dicts.Object{"type": "Recreate"}
	if o.Replicas > 1 {
		strategy = dicts.Object{"type": "RollingUpdate", "rollingUpdate": dicts.Object{"maxUnavailable": 1, "maxSurge": 1}}
		objects = append(objects, dicts.Object{
			"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": o.metadata(o.Namespace),
			"spec": dicts.Object{"maxUnavailable": 1, "selector": dicts.Object{"matchLabels": selected}},
		})
	}
	return append(objects, dicts.Object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": o.metadata(o.Namespace),
		"spec": dicts.Object{
			"replicas": max(o.Replicas, 1), "strategy": strategy, "selector": dicts.Object{"matchLabels": selected},
			"template": dicts.Object{"metadata": dicts.Object{"labels": o.labels()}, "spec": pod},
		},
	}), nil
}

func published(modules []string) error {
	for _, module := range modules {
		if !strings.HasPrefix(module, "oci://") {
			return fmt.Errorf("%s: %w", module, errNotPublished)
		}
	}
	return nil
}

// wantsAny reports whether requests are granted that the modules declare.
func (o *Operator) wantsAny() bool {
	return o.Wanted && slices.ContainsFunc(o.Registrations, wantsRequests)
}

// flags are those of kopf run.
func (o *Operator) flags() []string {
	flags := []string{"--all-namespaces"}
	if len(o.Namespaces) > 0 {
		flags = nil
		for _, namespace := range o.Namespaces {
			flags = append(flags, "--namespace="+namespace)
		}
	}
	if o.Peering == "" {
		flags = append(flags, "--standalone")
	} else {
		flags = append(flags, "--peering="+o.Peering)
	}
	if o.wantsAny() {
		flags = append(flags, "--allow-wanted")
	}
	if o.Replicas > 1 {
		mode := "leader"
		if o.Shared {
			mode = "shared"
		}
		flags = append(flags, "--replicas="+mode, "--lease="+o.Namespace+"/"+o.Name)
	}
	if o.Admission != "" {
		secret := ""
		if o.Replicas > 1 {
			secret = fmt.Sprintf(`,"secret":{"namespace":%q,"name":%q}`, o.Namespace, o.webhookSecret())
		}
		server := fmt.Sprintf(`{"type":"server","port":%d,"service":{"namespace":%q,"name":%q,"port":443}%s}`, webhookPort, o.Namespace, o.Name, secret)
		flags = append(flags, "--admission-managed="+o.Admission, "--admission-server="+server)
	}
	flags = append(flags, fmt.Sprintf("--liveness=http://0.0.0.0:%d/healthz", probePort), "--log-format=json")
	return append(flags, o.configFlags()...)
}

// configFlags are the flags of kopf run with the configuration, as arguments of a container, in which Kubernetes replaces $(NAME).
func (o *Operator) configFlags() []string {
	var flags []string
	for _, key := range slices.Sorted(maps.Keys(o.Config)) {
		flags = append(flags, "--config="+strings.ReplaceAll(key+"="+o.Config[key], "$", "$$"))
	}
	return flags
}

// Declaration returns the declaration for hosts: a WasmOperator if the operator serves its own namespace only, else a
// ClusterWasmOperator. See docs/hosting.md.
//
// Errors: the operator has not exactly one module, or the module is no reference of a registry.
func (o *Operator) Declaration(modules []string) (dicts.Object, error) {
	if len(modules) != 1 {
		return nil, errors.New("a hosted operator has one module")
	}
	if err := published(modules); err != nil {
		return nil, err
	}
	spec := dicts.Object{"module": modules[0], "serviceAccountName": o.Name}
	grants := dicts.Object{}
	if o.wantsAny() {
		grants["wanted"] = true
	}
	if len(o.Config) > 0 {
		config := dicts.Object{}
		for key, value := range o.Config {
			config[key] = value
		}
		grants["config"] = config
	}
	if len(grants) > 0 {
		spec["grants"] = grants
	}
	declaration := dicts.Object{"apiVersion": "hosting.kopf.dev/v1alpha1", "kind": "WasmOperator", "metadata": o.metadata(o.Namespace), "spec": spec}
	if !slices.Equal(o.Namespaces, []string{o.Namespace}) {
		spec["serviceAccountNamespace"] = o.Namespace
		if len(o.Namespaces) > 0 {
			spec["scope"] = dicts.Object{"namespaces": dicts.List(o.Namespaces)}
		}
		declaration["kind"] = "ClusterWasmOperator"
		declaration["metadata"] = dicts.Object{"name": o.Name, "labels": o.labels()}
	}
	return declaration, nil
}
