package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/client"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/internal/spelling"
	"github.com/kopf-wasm/kopf/operator"
)

// defaultHost is where the commands about a serving host expect it.
const defaultHost = "http://127.0.0.1:8080"

// completing is how long a completion may take.
const completing = 2 * time.Second

// hostOptions are the flags of the commands that ask a host of operators.
type hostOptions struct {
	url         string
	authorities string
	namespace   string
}

func (o *hostOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.url, "host", "", "the `URL` of the host, as kopf serve --listen serves it (default $KOPF_HOST, or "+defaultHost+")")
	flags.StringVar(&o.authorities, "certificate-authority", "", "the `file` with the certificate authorities of the host, in PEM (default those of the system)")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "operators of this `namespace` only")
}

// client creates the client of the host.
func (o *hostOptions) client(ctx context.Context) (*client.Client, error) {
	variable, from := os.Getenv("KOPF_HOST"), "--host"
	if o.url == "" && variable != "" {
		from = "$KOPF_HOST"
	}
	c, err := client.New(ctx, client.Options{URL: cmp.Or(o.url, variable, defaultHost), Authorities: o.authorities, Login: userConfig})
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", from, err)}
	}
	return c, nil
}

// userConfig returns the credentials of the current context; nil without any.
func userConfig(ctx context.Context) (*rest.Config, error) {
	config, _, err := firstConfig(ctx, operator.Kubeconfig, operator.ServiceAccount)
	return config, err
}

// report returns the operators of the namespace.
func (o *hostOptions) report(ctx context.Context) (*client.Client, *facts.Report, error) {
	c, err := o.client(ctx)
	if err != nil {
		return nil, nil, err
	}
	report, err := c.Report(ctx)
	if errors.Is(err, client.ErrUnreachable) {
		err = fmt.Errorf("%w; start a host with kopf serve --listen 127.0.0.1:8080, or reach one in a cluster with kubectl port-forward -n kopf-system deployment/kopf-serve 8080", err)
	}
	if err != nil {
		return nil, nil, err
	}
	if o.namespace != "" {
		report.Operators = slices.DeleteFunc(report.Operators, func(f facts.Operator) bool { return f.Namespace != o.namespace })
	}
	return c, report, nil
}

// one returns the operator that the only argument names.
func (o *hostOptions) one(ctx context.Context, args []string) (*client.Client, *facts.Operator, error) {
	if len(args) != 1 {
		return nil, nil, usageError{errors.New("name one operator, as kopf get lists them")}
	}
	c, report, err := o.report(ctx)
	if err != nil {
		return nil, nil, err
	}
	f, err := named(report, args[0])
	return c, f, err
}

// named finds an operator by its name, or by its namespace and its name.
func named(report *facts.Report, name string) (*facts.Operator, error) {
	var found []*facts.Operator
	for i := range report.Operators {
		if f := &report.Operators[i]; f.Title() == name || f.Name == name {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("the host has no operator %.100q%s", name, meant(similar(report, name)))
	}
	var titles []string
	for _, f := range found[:min(len(found), 5)] {
		titles = append(titles, f.Title())
	}
	return nil, usageError{fmt.Errorf("%d operators have the name %s: name one as %s", len(found), name, strings.Join(titles, " or "))}
}

// similar lists up to three operators with a similar name.
func similar(report *facts.Report, name string) []string {
	_, last, qualified := strings.Cut(name, "/")
	var close []string
	for i := range report.Operators {
		f := &report.Operators[i]
		if spelling.Distance(f.Name, name) <= 2 || qualified && (spelling.Distance(f.Name, last) <= 2 || spelling.Distance(f.Title(), name) <= 2) {
			close = append(close, f.Title())
		}
	}
	return close[:min(len(close), 3)]
}

// complete completes the names of operators, if the host answers in time.
func (o *hostOptions) complete(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completing)
	defer cancel()
	var names []string
	if _, report, err := o.report(ctx); err == nil && len(args) == 0 {
		for i := range report.Operators {
			if title := report.Operators[i].Title(); strings.HasPrefix(title, begin) {
				names = append(names, title)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
