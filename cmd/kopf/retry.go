package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newRetryCmd(stdout io.Writer) *cobra.Command {
	o := &hostOptions{}
	cmd := &cobra.Command{
		Use:   "retry OPERATOR",
		Short: "Start a failed operator of a serving host again",
		Long: `Retry makes a host, which is a kopf serve with --listen, start a failed operator at once, also
one in quarantine. An operator that serves as declared continues.

Every flag can also be set by a variable: --host by KOPF_RETRY_HOST.`,
		Example: `  kopf retry mailer -n team
  kopf retry team/mailer
  kubectl annotate wop mailer -n team hosting.kopf.dev/retry="$(date)" --overwrite`,
		ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			c, f, err := o.one(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := c.Retry(cmd.Context(), f); err != nil {
				return err
			}
			becomes := "is started again"
			switch {
			case f.Ready:
				becomes = "serves, and continues"
			case f.Reason == "Loading":
				becomes = "is being started"
			case f.Reason == "Suspended":
				becomes = "is suspended: to start it, set spec.suspend to false"
			}
			_, err = fmt.Fprintf(stdout, "%s %s\n", cell(f.Title()), becomes)
			return err
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}
