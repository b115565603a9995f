//go:build !linux && !darwin

package compiler

import (
	"errors"
	"os"
	"os/exec"
)

const limitable = false

func limit(int, int) error { return errors.ErrUnsupported }

func thisProgram() (string, error) { return os.Executable() }

func detach(*exec.Cmd) {}

func killed(*os.ProcessState) bool { return false }
