// Command kopf runs Kubernetes operators whose handlers are WebAssembly modules.
//
// See docs/cli.md
package main

import (
	"os"

	"github.com/kopf-wasm/kopf/host/compiler"
)

func main() {
	compiler.Main() // compiles modules in separate processes
	os.Exit(int(run(os.Args[1:], os.Stdout, os.Stderr)))
}
