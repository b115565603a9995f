// Command cmd judges the pure functions of the project by a folder of recorded
// vectors, and ends with "N passed, N failed":
//
//	go run ./test/vectors/cmd [FOLDER]
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/kopf-wasm/kopf/test/vectors"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run gives the exit code: 1 if a case has failed, 2 if the folder is of no use.
func run(args []string, stdout, stderr io.Writer) int {
	folder := "test/conformance/vectors"
	if len(args) > 0 {
		folder = args[0]
	}
	results, err := vectors.Run(folder, vectors.Functions())
	if err != nil {
		fmt.Fprintln(stderr, "vectors:", err)
		return 2
	}
	if !vectors.Report(stdout, results) {
		return 1
	}
	return 0
}
