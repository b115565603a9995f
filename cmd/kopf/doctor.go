package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/deployment"
	"github.com/kopf-wasm/kopf/operator/diagnoses"
	"github.com/kopf-wasm/kopf/operator/toolchains"
)

func newDoctorCmd(stdout, stderr io.Writer) *cobra.Command {
	o := &manifestOptions{}
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "doctor [FOLDER|OPERATOR.wasm|OPERATOR.js|OPERATOR.py|oci://REFERENCE]",
		Short: "Check what this machine and the cluster lack",
		Long: `Doctor looks for the tool chains of all languages, the engines of scripts, the caches, and the
cluster of the current context: its version, and whether its clock agrees with that of this machine.

With a folder, the tool chain of its language must be there. With a module or a script, or a folder
that is built, the account of the current context must have all rights that the operator needs. With
an artifact, its registry must answer.

A problem is something that is broken: then the exit code is 1. A warning is something that you may
not need.`,
		Example: `  kopf doctor
  kopf doctor . -n default
  kopf doctor operator.wasm -A -o json
  kopf doctor oci://ghcr.io/me/operator:v1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usageError{fmt.Errorf("unexpected argument %q: name one operator", args[1])}
			case o.clusterwide && len(o.namespaces) > 0:
				return errBothScopes
			}
			if err := checkNamespaces(o.namespaces); err != nil {
				return err
			}
			if len(o.namespaces) == 0 && !o.clusterwide {
				o.namespaces = []string{"default"}
			}
			report, err := o.examine(cmd.Context(), append(args, "")[0], stderr)
			if err != nil {
				return err
			}
			if err := output.write(stdout, report, func() error { return printDiagnoses(stdout, report) }); err != nil {
				return err
			}
			switch n := report.Problems(); n {
			case 0:
				return nil
			case 1:
				return errors.New("there is a problem")
			default:
				return fmt.Errorf("there are %d problems", n)
			}
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.namespaces, "namespace", "n", nil, "the operator serves this `namespace`, or a pattern: prod-*,!prod-x (repeatable; default \"default\")")
	flags.BoolVarP(&o.clusterwide, "all-namespaces", "A", false, "the operator serves the whole cluster")
	flags.StringVarP(&o.peering, "peering", "P", "", "the `name` of the peering objects (default none: the operator stands alone)")
	flags.StringVar(&o.managed, "admission-managed", "", "the `NAME` of the operator's webhook configurations")
	output.addFlag(cmd, "the `FORMAT`: json or yaml (default a table)", outputJSON, outputYAML)
	o.addConfigFlags(flags)
	o.addEngineFlag(flags)
	o.registryOptions.addFlags(flags)
	o.clusterOptions.addFlags(flags)
	return cmd
}

// examine makes all checks. The argument is a folder, a module, a script, an artifact, or empty.
func (o *manifestOptions) examine(ctx context.Context, subject string, stderr io.Writer) (*diagnoses.Report, error) {
	report := &diagnoses.Report{}
	module, language := subject, toolchains.Language("")
	if subject != "" && !oci.IsReference(subject) {
		if project, err := toolchains.Find(subject); err == nil {
			module, language = project.Product(), project.Language
		} else if info, missing := os.Stat(subject); missing != nil || info.IsDir() {
			return nil, usageError{err}
		}
	}
	report.Add(diagnoses.Tools(ctx, language)...)
	report.Add(diagnoses.Engines(language)...)
	report.Add(diagnoses.Caches()...)
	login, err := o.login()
	if err != nil {
		return nil, err
	}
	found, account := diagnoses.Cluster(ctx, login)
	report.Add(found...)
	switch {
	case oci.IsReference(module):
		report.Add(o.examineRegistry(ctx, module, stderr))
	case module != "" && account == nil: // the rights are unknown, but a broken module is a problem, too
		if _, err := o.registrations(ctx, []string{module}, stderr); err != nil {
			report.Add(diagnoses.Finding{About: "module", Name: module, Level: diagnoses.Problem, Text: err.Error()})
		}
	case module != "":
		op, err := o.deployed(ctx, module, login, stderr)
		if err != nil {
			report.Add(diagnoses.Finding{About: "rights", Name: module, Level: diagnoses.Problem, Text: err.Error()})
		} else {
			report.Add(diagnoses.Rights(ctx, op, account))
		}
	}
	return report, nil
}

// deployed is the operator of a module, with all that it may need.
func (o *manifestOptions) deployed(ctx context.Context, module string, login operator.Login, stderr io.Writer) (*deployment.Operator, error) {
	registrations, err := o.registrations(ctx, []string{module}, stderr)
	if err != nil {
		return nil, err
	}
	resources, err := operator.Resources(ctx, login)
	if err != nil {
		return nil, err
	}
	name := o.nameOf(module, registrations[0])
	op := &deployment.Operator{
		Name: name, Namespace: deployment.Home(o.namespaces), Namespaces: o.namespaces, Registrations: registrations, Resources: resources,
		Wanted: true, Peering: o.peering, Admission: o.managed,
	}
	if op.Admission == "" {
		op.Admission = name + ".example.com" // as operators of kopf new have
	}
	return op, nil
}

func (o *manifestOptions) examineRegistry(ctx context.Context, name string, stderr io.Writer) diagnoses.Finding {
	finding := diagnoses.Finding{About: "registry", Name: name, Level: diagnoses.Problem}
	finder, err := o.finder(stderr)
	if err != nil {
		finding.Text = err.Error()
		return finding
	}
	defer finder.Client.Close()
	found, err := finder.Open(ctx, name)
	if err != nil {
		finding.Text = err.Error()
		return finding
	}
	finding.Level, finding.Text = diagnoses.OK, fmt.Sprintf("%s, %s", found.Name, sizeText(int64(len(found.Module))))
	return finding
}

// printDiagnoses prints a table. Texts may come from servers.
func printDiagnoses(to io.Writer, report *diagnoses.Report) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, f := range report.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Level, f.About, cell(f.Name), cell(f.Text))
	}
	return table.Flush()
}
