package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/hosting/endpoints"
	"github.com/kopf-wasm/kopf/hosting/facts"
)

func newDescribeCmd(stdout io.Writer) *cobra.Command {
	o := &hostOptions{}
	cmd := &cobra.Command{
		Use:   "describe OPERATOR",
		Short: "Show the state of an operator of a serving host",
		Long: `Describe shows what a host, which is a kopf serve with --listen, knows about an operator: its
conditions, what it does and uses, the limits that it has hit, and its last errors.

Every flag can also be set by a variable: --host by KOPF_DESCRIBE_HOST.`,
		Example: `  kopf describe mailer -n team
  kopf describe team/mailer`,
		ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			_, f, err := o.one(cmd.Context(), args)
			if err != nil {
				return err
			}
			return describeOperator(stdout, f)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// describeOperator writes all facts of an operator.
func describeOperator(to io.Writer, f *facts.Operator) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	pair := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s:\t%s\n", name, cell(fmt.Sprintf(format, args...)))
	}
	pair("Operator", "%s (%s)", f.Title(), f.Kind)
	pair("Account", "%s", f.Account)
	pair("Module", "%s", f.Module.Declared)
	pair("Runs", "%s", orDash(f.Module.Artifact))
	pair("Digest", "%s", orDash(f.Module.Digest))
	if f.Started != nil {
		pair("Started", "%s", shownTime(*f.Started))
	}
	pair("Restarts", "%d", f.Restarts)
	pair("Handlers", "%d", f.Module.Handlers)
	pair("Resources", "%s", orDash(strings.Join(f.Module.Resources, ", ")))
	w := &f.Work
	pair("Objects", "%d, and %d with a worker", w.Objects, w.Working)
	pair("Waiting", "%d events, %d retries", w.Queued, w.Retries)
	pair("Daemons", "%d", w.Daemons)
	pair("Calls", "%d, with %d errors and %d lost", w.Calls, w.Errors, w.Lost)
	pair("Computing", "%s", endpoints.Seconds(w.ComputingSeconds))
	pair("Memory", "%s in %d instances, %s of the host", endpoints.Bytes(f.Memory.Instances), w.Instances, endpoints.Bytes(f.Memory.Host))
	switch {
	case f.Standby:
		pair("Stands by", "the host that runs it is %s", orDash(f.Host))
	case f.Host != "":
		pair("Host", "%s", f.Host)
	}
	if w.Paused && !f.Standby {
		pair("Paused", "by other operators")
	}
	fmt.Fprintln(table, "\nConditions:")
	for _, c := range f.Conditions {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", cell(string(c.Type)), cell(string(c.Status)), cell(c.Reason), cell(c.Message))
	}
	if len(f.Limits) > 0 {
		fmt.Fprintln(table, "\nLimits:")
	}
	for _, l := range f.Limits {
		fmt.Fprintf(table, "  %s\t%d hits\t%s\n", cell(l.Name), l.Hits, usedOf(l))
	}
	if len(f.Errors) > 0 {
		fmt.Fprintln(table, "\nLast errors:")
	}
	for _, e := range f.Errors {
		fmt.Fprintf(table, "  %s\t%s\n", shownTime(e.Time), cell(e.Message))
	}
	return table.Flush()
}

func usedOf(l facts.Limit) string {
	if l.Limit == 0 {
		return ""
	}
	return endpoints.Bytes(l.Used) + " of " + endpoints.Bytes(l.Limit)
}
