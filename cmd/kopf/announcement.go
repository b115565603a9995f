package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/operator"
)

// devPriority is the priority of --dev.
const devPriority = 666

// announceOptions are the common flags of `kopf freeze` and `kopf resume`.
type announceOptions struct {
	clusterOptions
	logOptions
	namespaces  []string
	clusterwide bool
	identity    string
	peering     string
}

func (o *announceOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.namespaces, "namespace", "n", nil, "the peering objects of this `namespace`, or of a pattern: prod-*,!prod-x (repeatable)")
	flags.BoolVarP(&o.clusterwide, "all-namespaces", "A", false, "the peering objects of the whole cluster")
	flags.StringVarP(&o.identity, "id", "i", "", "the name of the record (default $POD_ID, or user@host)")
	flags.StringVarP(&o.peering, "peering", "P", "", "the `name` of the peering objects (required)")
	o.clusterOptions.addFlags(flags)
	o.logOptions.addFlags(flags)
}

// announcement validates the flags, including those from environment variables, and returns
// the announcement without its lifetime.
func (o *announceOptions) announcement(cmd *cobra.Command, args []string, stderr io.Writer) (operator.Announcement, error) {
	none := operator.Announcement{}
	if err := noArgs(cmd, args); err != nil {
		return none, err
	}
	if err := fromEnvironment(cmd); err != nil {
		return none, err
	}
	if o.peering == "" {
		return none, usageError{errors.New("name the peering objects: --peering NAME")}
	}
	log, err := o.logger(stderr)
	if err != nil {
		return none, err
	}
	if err := checkScope(o.clusterwide, o.namespaces, log); err != nil {
		return none, err
	}
	login, err := o.login()
	return operator.Announcement{Namespaces: o.namespaces, Name: o.peering, Identity: o.identity, Logins: operator.Logins(login), Log: log}, err
}

// announce is operator.Announce. Tests of flags replace it.
type announce func(ctx context.Context, a operator.Announcement) error
