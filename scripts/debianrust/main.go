// Command debianrust prints the variables of the environment with which cargo builds modules by Debian's Rust, one in a line: TARGET is
// wasm32-unknown-unknown or wasm32-wasip1. It builds the standard library of the target first, if this machine has none.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/kopf-wasm/kopf/operator/toolchains"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: debianrust TARGET")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	variables, err := toolchains.DebianRust(ctx, os.Args[1], os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "debianrust:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to do
	}
	for _, v := range variables {
		fmt.Println(v)
	}
}
