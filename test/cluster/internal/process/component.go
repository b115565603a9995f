// Package process runs the parts of a cluster as child processes that never
// outlive their parent, whatever way it ends: each child holds the reading end
// of a pipe that only the parent can write to, and ends when the pipe closes.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Spec describes a child process.
type Spec struct {
	// Name is used in messages: "kube-apiserver".
	Name string
	// Program is the path of the executable. Its main must call AwaitParent
	// before anything else that takes time.
	Program string
	// Args are the arguments after the program's name.
	Args []string
	// Dir is the working directory.
	Dir string
	// Log is the file for the output. What an earlier run left in it is lost.
	Log string
	// Files are inherited by the child as descriptors 3, 4, …
	Files []*os.File
}

// Component is a running child process.
type Component struct {
	spec   Spec
	cmd    *exec.Cmd
	leash  io.WriteCloser
	exited chan struct{} // closed when err is set
	err    error
}

// Start starts the child. It waits in AwaitParent until Release.
func Start(spec Spec) (*Component, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: log: %w", spec.Name, err)
	}
	defer log.Close() // the child has its own descriptor
	cmd := exec.Command(spec.Program, spec.Args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = spec.Dir, log, log, spec.Files
	// A group of its own: Ctrl-C in a terminal must reach the parent only,
	// which then stops its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	c := &Component{spec: spec, cmd: cmd, leash: leash, exited: make(chan struct{})}
	go c.wait() // ends with the child; waited for by Stop
	return c, nil
}

func (c *Component) wait() {
	err := c.cmd.Wait()
	if err == nil {
		err = errors.New("exit status 0")
	}
	c.err = c.Explain(fmt.Errorf("ended by itself: %w", err))
	close(c.exited)
}

// Release lets the child go on from AwaitParent. Its error is that of a child
// which has ended already.
func (c *Component) Release() error {
	if _, err := c.leash.Write([]byte{'\n'}); err != nil {
		<-c.exited // no other process has the other end of the pipe
		return c.err
	}
	return nil
}

// Explain adds to an error what the child logged last.
func (c *Component) Explain(err error) error {
	return fmt.Errorf("%s: %w\n%s", c.spec.Name, err, LastLines(c.spec.Log))
}

// Exited is closed when the child has ended.
func (c *Component) Exited() <-chan struct{} { return c.exited }

// Err says how the child ended and what it logged last. It may be called
// after Exited is closed.
func (c *Component) Err() error { return c.err }

// Stop asks the child to end, kills it after the grace period, and returns
// when it is gone. With a grace period of zero it is killed at once.
func (c *Component) Stop(grace time.Duration) {
	if grace > 0 {
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails only if it is gone
		select {
		case <-c.exited:
		case <-time.After(grace):
		}
	}
	_ = c.cmd.Process.Kill() // fails only if it is gone
	<-c.exited
	_ = c.leash.Close()
}
