//go:build !unix

package clusters

import "os/exec"

// separate does nothing: the program of clusters exists on Unix only.
func separate(*exec.Cmd) {}
