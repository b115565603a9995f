// Package programtest writes programs that tests run.
package programtest

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program of the shell, without its first line. Meanwhile, no other test starts a process: it would have the file
// open for writing for a moment, and Linux refuses to run such a file ("text file busy", https://go.dev/issue/22315).
func Write(tb testing.TB, path, script string) {
	tb.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700) //nolint:gosec // it is to be run
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatal(err)
	}
}
