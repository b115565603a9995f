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
			c, f, err := o.one(contextOf(cmd), args)
			if err != nil {
				return err
			}
			if err := c.Retry(contextOf(cmd), f); err != nil {
				return err
			}
			if f.Ready {
				_, err = fmt.Fprintf(stdout, "%s serves, and continues\n", cell(titleOf(f)))
			} else {
				_, err = fmt.Fprintf(stdout, "%s is started again\n", cell(titleOf(f)))
			}
			return err
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}
