// Package cli is the command line of devcluster: it turns flags into Options,
// and does no work itself.
package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/test/cluster/internal/datadir"
)

// Options are the flags of the command run.
type Options struct {
	Dir              string        // the data folder; made if missing
	Port             int           // of the API server; 0: the last one or any free one
	Audit            bool          // write the audit log
	AuditUsers       string        // comma-separated; "": the operators; "all"
	Controllers      bool          // run the controller-manager
	NoFsync          bool          // etcd does not wait for the disk
	Tokens           string        // a file with more users; "": none
	Remove           bool          // delete the folder at the end
	UntilStdinCloses bool          // end when the standard input is closed
	StartTimeout     time.Duration // until ready
	Stdin            io.Reader
	Stdout           io.Writer
}

// Runner does what the command run is for. It returns when the cluster ended.
type Runner func(ctx context.Context, o Options) error

// NewRunCommand makes the command that starts a cluster.
func NewRunCommand(run Runner) *cobra.Command {
	o := Options{}
	cmd := &cobra.Command{
		Use:   "run --dir DIR",
		Short: "Start a control plane and keep it until a signal",
		Long: `Start a control plane and keep it until SIGINT or SIGTERM.

One line goes to the standard output when the cluster can be used: "ready" and
the path of the administrator's kubeconfig. The keys, the data and the logs of
the parts are in DIR. A cluster started on the same DIR again has the same
objects and, if it is free, the same port; so a client needs no new kubeconfig.

Besides the administrator there are the users operator0a, operator0b … up to
operator23b with the tokens operatortoken0a and so on, for programs which are
to be distinguished in the audit log.`,
		Example: `  devcluster run --dir /tmp/dev
  devcluster run --dir /tmp/dev --audit --no-fsync --port 18443`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Audit = o.Audit || cmd.Flags().Changed("audit-users")
			o.Stdin, o.Stdout = cmd.InOrStdin(), cmd.OutOrStdout()
			return run(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Dir, "dir", "", "data folder, made if missing (required)")
	fs.IntVar(&o.Port, "port", 0, "port of the API server (default: that of the last start in DIR, or any free one)")
	fs.BoolVar(&o.Audit, "audit", false, "write DIR/"+datadir.AuditLogFile)
	fs.StringVar(&o.AuditUsers, "audit-users", "", `users in the audit log, comma-separated, or "all" (default: the operators); implies --audit`)
	fs.BoolVar(&o.Controllers, "controllers", true, "run the controllers: namespaces, garbage collection, service accounts, workloads")
	fs.BoolVar(&o.NoFsync, "no-fsync", false, "do not wait for the disk: faster, but a crash of the machine may lose the data")
	fs.StringVar(&o.Tokens, "tokens", "", `file with more users, one per line: token,user,uid,"group1,group2"`)
	fs.BoolVar(&o.Remove, "remove", false, "delete DIR at the end")
	fs.BoolVar(&o.UntilStdinCloses, "until-stdin-closes", false, "end also when the standard input is closed, for programs that start a cluster")
	fs.DurationVar(&o.StartTimeout, "start-timeout", 2*time.Minute, "give up if the cluster is not ready by then")
	_ = cmd.MarkFlagRequired("dir") // fails only for an unknown flag
	return cmd
}

// NewEnvCommand makes the command that points a shell to a cluster.
func NewEnvCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "env --dir DIR",
		Short:   "Print the shell command that points kubectl to the cluster of DIR",
		Example: `  eval "$(devcluster env --dir /tmp/dev)"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := filepath.Abs(filepath.Join(dir, datadir.KubeconfigFile))
			if err != nil {
				return fmt.Errorf("data folder: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG='%s'\n", strings.ReplaceAll(path, "'", `'\''`))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "data folder of the cluster (required)")
	_ = cmd.MarkFlagRequired("dir") // fails only for an unknown flag
	return cmd
}
