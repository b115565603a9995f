package compiler

import (
	"os"
	"os/exec"
)

// thisProgram is the file of the running program.
func thisProgram() (string, error) { return os.Executable() }

// start starts the process.
func start(cmd *exec.Cmd, _ string) error { return cmd.Start() }

// confine does nothing: the system has no way that needs no rights.
func confine(string) error { return nil }

// dataNow is not known: the limit counts all of it.
func dataNow() uint64 { return 0 }
