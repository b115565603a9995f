//go:build unix

package clusters

import (
	"os/exec"
	"syscall"
)

// separate gives a process a group of its own, which gets no signals of the terminal.
func separate(process *exec.Cmd) { process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
