package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/deployment"
)

// manifestOptions are the flags of `kopf manifest`.
type manifestOptions struct {
	moduleOptions
	clusterOptions
	namespaces  []string
	clusterwide bool
	peering     string
	managed     string
	wanted      bool
	name, into  string
	definitions []string
	image       string
	hosted      bool
	pods        int
	shared      bool
	values      bool
}

func newManifestCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &manifestOptions{}
	cmd := &cobra.Command{
		Use:   "manifest OPERATOR.wasm|OPERATOR.js|OPERATOR.py|oci://REFERENCE...",
		Short: "Print the manifests that deploy an operator",
		Long: `Manifest loads an operator, asks it what it registers, and prints its service account and
the roles with the least rights that it needs. With --image, it also prints a Deployment that
runs kopf with the operator; with --hosted, a WasmOperator for kopf serve. With --values, it
prints the values of the Helm chart instead.

The resources of the handlers are those of the files of --crd, or else those of the
cluster of the current context.`,
		Example: `  kopf manifest operator.wasm -n default --crd crd.yaml | kubectl apply -f -
  kopf manifest oci://ghcr.io/me/operator:v1 -A --image ghcr.io/me/kopf:v1
  kopf manifest oci://ghcr.io/me/operator:v1 -n shops --hosted
  kopf manifest oci://ghcr.io/me/operator:v1 -n shops --values | helm install mailer CHART -n shops -f -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name a module")}
			}
			if err := o.check(); err != nil {
				return err
			}
			if err := o.checkPackages(args...); err != nil {
				return err
			}
			return o.print(cmd.Context(), args, stdout, stderr)
		},
	}
	o.addManifestFlags(cmd)
	return cmd
}

func (o *manifestOptions) addManifestFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "", "the `name` of all objects (default that of the operator, or of its file)")
	flags.StringVar(&o.into, "into", "", "the `namespace` of the operator itself (default the first of --namespace, or default)")
	flags.StringArrayVarP(&o.namespaces, "namespace", "n", nil, "serve this `namespace`, or a pattern: prod-*,!prod-x (repeatable)")
	flags.BoolVarP(&o.clusterwide, "all-namespaces", "A", false, "serve the whole cluster")
	flags.StringArrayVar(&o.definitions, "crd", nil, "a `FILE` with CustomResourceDefinitions of the handlers' resources (repeatable)")
	flags.StringVar(&o.image, "image", "", "print a Deployment with this `IMAGE`, whose entry point is the program kopf")
	flags.IntVar(&o.pods, "replicas", 1, "how many `PODS` run; one of them is the leader: see docs/replicas.md")
	flags.BoolVar(&o.shared, "shared", false, "let the pods of --replicas share the objects, instead of electing a leader")
	flags.BoolVar(&o.hosted, "hosted", false, "print a WasmOperator or a ClusterWasmOperator")
	flags.BoolVar(&o.values, "values", false, "print the values of the Helm chart instead of manifests")
	flags.StringVarP(&o.peering, "peering", "P", "", "the `name` of the peering objects (default none: the operator stands alone)")
	flags.StringVar(&o.managed, "admission-managed", "", "keep webhook configurations of this `NAME` in the cluster")
	flags.BoolVar(&o.wanted, "allow-wanted", false, "grant all requests that the operator declares; kopf inspect shows them")
	o.addModuleFlags(flags)
}

func (o *manifestOptions) check() error {
	switch {
	case o.clusterwide && len(o.namespaces) > 0:
		return errBothScopes
	case !o.clusterwide && len(o.namespaces) == 0:
		return usageError{errors.New("say where the operator serves: --namespace NAMESPACE, or --all-namespaces")}
	case o.pods < 1:
		return usageError{fmt.Errorf("--replicas %d: at least one pod runs", o.pods)}
	case o.shared && o.pods == 1:
		return usageError{errors.New("--shared is for several pods: add --replicas PODS")}
	case o.shared && o.peering != "":
		return usageError{errors.New("either --shared or --peering can be used, not both: replicas that share the objects take part in no peering")}
	case o.hosted && o.pods > 1:
		return usageError{errors.New("either --replicas or --hosted can be used, not both: the host runs the operator")}
	case o.hosted && o.image != "":
		return usageError{errors.New("either --image or --hosted can be used, not both: a hosted operator needs no image")}
	case o.hosted && (o.peering != "" || o.managed != ""):
		return usageError{errors.New("--hosted goes with neither --peering nor --admission-managed: hosted operators take part in no peering, and the host keeps the configurations of webhooks")}
	case o.values && (o.hosted || o.image != ""):
		return usageError{errors.New("--values is for the Helm chart: leave out --image and --hosted")}
	case (o.image != "" || o.hosted || o.values) && len(o.configFiles)+len(o.environment) > 0:
		return usageError{errors.New("--config-file and --env do not go with --image, --hosted and --values: what they read may be secret, so it is not printed; use --config for the rest")}
	}
	return checkNamespaces(o.namespaces)
}

func (o *manifestOptions) print(ctx context.Context, modules []string, stdout, stderr io.Writer) error {
	registrations, err := o.registrations(ctx, modules, stderr)
	if err != nil {
		return err
	}
	resources, err := o.resources(ctx)
	if err != nil {
		return err
	}
	config, err := o.guestConfig()
	if err != nil {
		return err
	}
	op := &deployment.Operator{
		Name: o.nameOf(modules[0], registrations[0]), Namespace: cmp.Or(o.into, deployment.Home(o.namespaces)), Namespaces: o.namespaces,
		Registrations: registrations, Resources: resources, Config: config, Wanted: o.wanted, Peering: o.peering, Admission: o.managed, Replicas: o.pods, Shared: o.shared, Hosted: o.hosted,
	}
	objects, err := o.objects(op, modules)
	var problems deployment.Problems
	if errors.As(err, &problems) {
		return fmt.Errorf("%w (name the files with their definitions: --crd FILE)", err)
	}
	if err != nil {
		return err
	}
	return printYAML(stdout, objects)
}

// objects are the values of the chart, or the rights with the workload.
func (o *manifestOptions) objects(op *deployment.Operator, modules []string) ([]dicts.Object, error) {
	if o.values {
		values, err := op.Values(modules)
		return []dicts.Object{values}, err
	}
	rights, err := op.Rights()
	if err != nil {
		return nil, err
	}
	workload, err := o.workload(op, modules)
	return append(rights, workload...), err
}

func (o *manifestOptions) workload(op *deployment.Operator, modules []string) ([]dicts.Object, error) {
	switch {
	case o.image != "":
		return op.Deployment(o.image, modules)
	case o.hosted:
		declaration, err := op.Declaration(modules)
		return []dicts.Object{declaration}, err
	}
	return nil, nil
}

// registrations loads the modules one after the other.
func (o *manifestOptions) registrations(ctx context.Context, modules []string, stderr io.Writer) ([]*abi.Registration, error) {
	config, err := o.guestConfig()
	if err != nil {
		return nil, err
	}
	var all []*abi.Registration
	for _, name := range modules {
		module, err := o.load(ctx, name, config, stderr)
		if err != nil {
			return nil, err
		}
		all = append(all, module.Registration())
		_ = module.Close(ctx) // the process is ending
	}
	return all, nil
}

// resources are those of the files, or else those of the cluster.
func (o *manifestOptions) resources(ctx context.Context) ([]deployment.Resource, error) {
	if len(o.definitions) == 0 {
		resources, err := operator.Resources(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("the resources of the handlers are unknown: %w (name the files with their definitions: --crd FILE)", err)
		}
		return resources, nil
	}
	return definitionsOf(o.definitions)
}

// nameOf is the name of the flag, of the operator, or of the first module: my_operator.py is my-operator, as Kubernetes wants names.
func (o *manifestOptions) nameOf(module string, r *abi.Registration) string {
	file := strings.ToLower(strings.ReplaceAll(serviceName([]string{module}), "_", "-"))
	return cmp.Or(o.name, r.Operator.Name, file)
}

func printYAML(to io.Writer, objects []dicts.Object) error {
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := to.Write(text); err != nil {
			return err
		}
	}
	return nil
}
