// Command kopf runs Kubernetes operators whose handlers are WebAssembly modules.
//
// See docs/cli.md
package main

import (
	"os"
)

func main() {
	os.Exit(int(run(os.Args[1:], os.Stdout, os.Stderr)))
}
