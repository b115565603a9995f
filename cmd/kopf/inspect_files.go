package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/kopf-wasm/kopf/host/files"
	"github.com/kopf-wasm/kopf/operator/packages"
)

// showFiles shows the packages and the author's modules that are embedded in a module.
func showFiles(table io.Writer, set *files.Set) {
	if set == nil {
		return
	}
	contents := packages.ContentsOf(set.Paths())
	if len(contents.Modules) > 0 {
		fmt.Fprintf(table, "modules\t%s\n", cell(strings.Join(contents.Modules, " ")))
	}
	if len(contents.Packages) > 0 {
		fmt.Fprintf(table, "packages\t%s\n", cell(strings.Join(contents.Packages, ", ")))
	}
	fmt.Fprintf(table, "files\t%d (%d bytes)\n", len(set.Paths()), set.Size())
}
