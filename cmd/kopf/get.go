package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/hosting/endpoints"
	"github.com/kopf-wasm/kopf/hosting/facts"
)

func newGetCmd(stdout io.Writer) *cobra.Command {
	o := &hostOptions{}
	var output outputFormat
	var all bool
	cmd := &cobra.Command{
		Use:   "get [OPERATOR]",
		Short: "List the operators of a serving host",
		Long: `Get asks a host, which is a kopf serve with --listen, about its operators: whether they
serve, and what they do and use. With an operator, get lists only this one.

Every flag can also be set by a variable: --output by KOPF_GET_OUTPUT.`,
		Example: `  kopf get
  kopf get -n team -o wide
  kopf get team/mailer -o json
  kopf get --host https://kopf-serve.example:8443`,
		ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			if all && o.namespace != "" {
				return errBothScopes
			}
			report, err := o.selected(cmd, args)
			if err != nil {
				return err
			}
			return output.write(stdout, report, func() error {
				if len(report.Operators) == 0 && o.namespace != "" {
					_, err := fmt.Fprintf(stdout, "The host has no operators in the namespace %s.\n", cell(o.namespace))
					return err
				}
				return printReport(stdout, report, output.name == outputWide)
			})
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "the operators of all namespaces (the default)")
	output.addFlag(cmd, "the `FORMAT`: wide, json, or yaml (default a table)", outputWide, outputJSON, outputYAML)
	return cmd
}

// selected returns the report about the operators that the arguments name.
func (o *hostOptions) selected(cmd *cobra.Command, args []string) (*facts.Report, error) {
	if len(args) > 1 {
		return nil, usageError{fmt.Errorf("unexpected argument %q: want one operator at most", args[1])}
	}
	_, report, err := o.report(cmd.Context())
	if err != nil || len(args) == 0 {
		return report, err
	}
	f, err := named(report, args[0])
	if err != nil {
		return nil, err
	}
	report.Operators = []facts.Operator{*f}
	return report, nil
}

// printReport writes a report as a table.
func printReport(to io.Writer, report *facts.Report, wide bool) error {
	if len(report.Operators) == 0 {
		_, err := fmt.Fprintln(to, "The host has no operators.")
		return err
	}
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	fmt.Fprint(table, "OPERATOR\tDIGEST\tREADY\tREASON\tOBJECTS\tCALLS\tERRORS\tMEMORY\tCPU")
	hosts := wide && report.Host.Replicas != nil
	if hosts {
		fmt.Fprint(table, "\tHOST")
	}
	if wide {
		fmt.Fprint(table, "\tHANDLERS\tQUEUED\tRETRIES\tDAEMONS\tRESTARTS\tHOST MEMORY\tMODULE")
	}
	fmt.Fprintln(table)
	for i := range report.Operators {
		row(table, &report.Operators[i], wide, hosts)
	}
	if err := table.Flush(); err != nil || report.Omitted == 0 {
		return err
	}
	_, err := fmt.Fprintf(to, "%d further operators are left out.\n", report.Omitted)
	return err
}

// row writes one operator. An operator of a host that stands by is ready to take over.
func row(to io.Writer, f *facts.Operator, wide, hosts bool) {
	ready := "False"
	switch {
	case f.Ready && f.Standby:
		ready = "Standby"
	case f.Ready:
		ready = "True"
	}
	w := &f.Work
	fmt.Fprintf(to, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s", cell(f.Title()), shortDigest(f.Module.Digest), ready, orDash(cell(f.Reason)), w.Objects, w.Calls, w.Errors, endpoints.Bytes(f.Memory.Instances), endpoints.Seconds(w.ComputingSeconds))
	if hosts {
		fmt.Fprintf(to, "\t%s", orDash(cell(f.Host)))
	}
	if wide {
		fmt.Fprintf(to, "\t%d\t%d\t%d\t%d\t%d\t%s\t%s", f.Module.Handlers, w.Queued, w.Retries, w.Daemons, f.Restarts, endpoints.Bytes(f.Memory.Host), cell(f.Module.Declared))
	}
	fmt.Fprintln(to)
}
