//go:build !unix && !wasip1

package kopf

import (
	"fmt"
	"os"
)

// Main says that operators run natively on Unix only. In a module it does nothing.
func Main() {
	fmt.Fprintln(os.Stderr, "kopf: operators run natively on Unix only")
	os.Exit(2) //nolint:forbidigo // it is the main of the program
}
