// Command kopf runs Kubernetes operators whose handlers are WebAssembly modules.
//
// See docs/cli.md
package main

import (
	"os"

	"github.com/kopf-wasm/kopf/host/compiler"
	"github.com/kopf-wasm/kopf/internal/resident"
)

func main() {
	compiler.Main()           // compiles modules in separate processes
	_, _ = resident.Release() // of the initialisation; without it, the program runs as well, in more memory
	os.Exit(int(run(os.Args[1:], os.Stdout, os.Stderr)))
}
