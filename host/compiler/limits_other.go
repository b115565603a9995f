//go:build !linux && !darwin

package compiler

import (
	"errors"
	"os"
	"os/exec"
)

const limitable = false

const nonblocking = 0 // there are no such pipes in directories

func limit(int, int) error { return errors.ErrUnsupported }

func limitFiles(uint64) error { return errors.ErrUnsupported }

func start(cmd *exec.Cmd, _ string) error { return cmd.Start() }

func confine(string) error { return nil }

func thisProgram() (string, error) { return os.Executable() }

func detach(*exec.Cmd) {}

func killed(*os.ProcessState) bool { return false }
