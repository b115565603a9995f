// Command kopf runs Kubernetes operators whose handlers are WebAssembly modules.
//
// See docs/cli.md
package main

import (
	"os"

	_ "github.com/kopf-wasm/kopf/cmd/kopf/internal/compiling" // compiles modules in separate processes
	"github.com/kopf-wasm/kopf/internal/resident"
)

func main() {
	_, _ = resident.Release() // of the initialisation; without it, the program runs as well, in more memory
	os.Exit(int(run(os.Args[1:], os.Stdout, os.Stderr)))
}
