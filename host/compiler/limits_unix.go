//go:build linux || darwin

package compiler

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"
)

const limitable = true

// nonblocking opens a pipe without waiting for its other end.
const nonblocking = syscall.O_NONBLOCK

// limit bounds this process: seconds of computing, and bytes of memory beyond what it has now.
func limit(seconds, memory int) error {
	yieldToOthers()
	afterFirstCollection(func() { debug.SetGCPercent(laterPercent) })
	debug.SetMemoryLimit(int64(memory) / 4 * 3) // but collect garbage more eagerly rather than fail
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGXCPU)
	go func() { // Until the process ends.
		<-over
		os.Exit(exitTime) //nolint:forbidigo // this process is for nothing else
	}()
	if err := lower(syscall.RLIMIT_CPU, uint64(seconds), 1); err != nil { // a second to say so
		return err
	}
	return lower(syscall.RLIMIT_DATA, dataNow()+uint64(memory), 0)
}

// limitFiles bounds the files that this process writes, in bytes. There are no dumps of it.
func limitFiles(size uint64) error {
	signal.Ignore(syscall.SIGXFSZ) // writing fails then
	if err := lower(syscall.RLIMIT_CORE, 0, 0); err != nil {
		return err
	}
	return lower(syscall.RLIMIT_FSIZE, size, 0)
}

// lower sets a limit, and a hard one so much above it, unless there are stricter ones.
func lower(resource int, value, more uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	hard := min(value+more, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: min(value, now.Cur, hard), Max: hard})
}

// niceness is the low priority of the compiler.
const niceness = 5

// yieldToOthers lowers the priority of all threads of this process, which are alone in
// their group. It is a courtesy: nothing depends on it.
func yieldToOthers() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, niceness)
	}
}

// detach gives the process a group of its own: signals of the terminal are not for it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killed reports whether the system ended the process.
func killed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
