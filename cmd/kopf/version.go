package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kopf-wasm/kopf/abi"
)

// reference is the version of Kopf that this program follows.
const reference = "1.45"

func newVersionCmd(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of this program, of its ABI, and of Kopf",
		Long:    "Version prints the version of this program, of the ABI for guests, and of the Kopf whose behaviour it has.",
		Example: "  kopf version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(stdout, "kopf %s\nABI %d\nbehaves as Kopf %s\n%s %s/%s\n",
				version(), abi.Version, reference, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version is the version of the Go module, or "devel" without one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
