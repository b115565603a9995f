package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/hosting/endpoints"
	"github.com/kopf-wasm/kopf/internal/legible"
)

func newLogsCmd(stdout io.Writer) *cobra.Command {
	o := &hostOptions{}
	var follow bool
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "logs OPERATOR",
		Short: "Show the newest log records of an operator of a serving host",
		Long: `Logs shows the newest log records of an operator of a host, which is a kopf serve with
--listen. The host keeps up to 64 KiB for each operator. With --follow, new records are
shown until the command is stopped, or the operator is removed.

Every flag can also be set by a variable: --host by KOPF_LOGS_HOST.`,
		Example: `  kopf logs mailer -n team
  kopf logs team/mailer -f -o json`,
		ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return o.logs(ctx, stdout, args, follow, output.name == outputJSON)
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show new records until the command is stopped")
	output.addFlag(cmd, "the `FORMAT`: json (default lines of text)", outputJSON)
	return cmd
}

// logs shows records until the stream ends.
func (o *hostOptions) logs(ctx context.Context, stdout io.Writer, args []string, follow, asJSON bool) error {
	c, f, err := o.one(ctx, args)
	if err != nil {
		return err
	}
	return c.Logs(ctx, f, follow, func(r *endpoints.Record) error {
		if asJSON {
			text, err := json.Marshal(r)
			if err == nil {
				_, err = fmt.Fprintf(stdout, "%s\n", legible.JSON(text))
			}
			return err
		}
		if r.Lost > 0 {
			fmt.Fprintf(stdout, "(%d records are lost)\n", r.Lost)
		}
		_, err := fmt.Fprintln(stdout, lineOf(r))
		return err
	})
}

// lineOf shows a record on one line.
func lineOf(r *endpoints.Record) string {
	var fields struct {
		Level  string
		Logger string
		Object struct{ Namespace, Name string }
	}
	_ = json.Unmarshal(r.Fields, &fields) // the message is shown in any case
	about := ""
	if fields.Object.Name != "" {
		about = "[" + strings.TrimPrefix(fields.Object.Namespace+"/"+fields.Object.Name, "/") + "] "
	}
	return fmt.Sprintf("%s %-5.5s %s%s", shownTime(r.Time), legible.Line(fields.Level), legible.Line(about), r.Text())
}
