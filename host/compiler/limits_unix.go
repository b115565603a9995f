//go:build linux || darwin

package compiler

import (
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
)

const limitable = true

// limit bounds this process: seconds of computing, and bytes of memory beyond what it has now.
func limit(seconds, memory int) error {
	yieldToOthers()
	debug.SetGCPercent(400)                     // this process is short-lived
	debug.SetMemoryLimit(int64(memory) / 4 * 3) // but collect garbage more eagerly rather than fail
	if err := lower(syscall.RLIMIT_CPU, uint64(seconds)); err != nil {
		return err
	}
	return lower(syscall.RLIMIT_DATA, dataNow()+uint64(memory))
}

// lower sets a limit, unless there is a stricter one.
func lower(resource int, value uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	value = min(value, now.Cur, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}

// niceness is the low priority of the compiler.
const niceness = 5

// yieldToOthers lowers the priority of all threads of this process, which are alone in
// their group. It is a courtesy: nothing depends on it.
func yieldToOthers() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, niceness)
	}
	firstToDie()
}

// detach gives the process a group of its own: signals of the terminal are not for it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killed tells whether the system ended the process.
func killed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
