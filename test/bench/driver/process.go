package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// errExited means that an operator has ended while it was needed.
var errExited = errors.New("the operator has exited")

// stopTimeout is how long an operator may take to end before it is killed.
const stopTimeout = time.Minute

// process is a started operator.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	exited  chan struct{}
	log     string // the path of its output
}

// launching says how to start an operator.
type launching struct {
	arguments   []string
	environment []string // in addition to that of the driver
	log         string
}

// launch starts an operator in a process group of its own.
func launch(l launching) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(l.log), 0o755); err != nil {
		return nil, err
	}
	output, err := os.Create(l.log)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(l.arguments[0], l.arguments[1:]...)
	cmd.Env = append(os.Environ(), l.environment...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := &process{cmd: cmd, started: time.Now(), exited: make(chan struct{}), log: l.log}
	if err := cmd.Start(); err != nil {
		output.Close()
		return nil, err
	}
	go func() { // Ends with the process: stop waits for it.
		_ = cmd.Wait()
		output.Close()
		close(p.exited)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the operator; what does not end in time is killed, with its children.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already: see below
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
		<-p.exited
		return fmt.Errorf("it did not end in %s and was killed, see %s", stopTimeout, p.log)
	}
	return nil
}
