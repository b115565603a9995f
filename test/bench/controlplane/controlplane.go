// Package controlplane starts a fresh control plane for a benchmark.
package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Cluster is a running control plane, made for one benchmark and deleted after it. There are no
// controllers: nothing but the API server and etcd shares the processors with the operators.
type Cluster struct {
	Dir        string // with its audit log, if there is one
	Kubeconfig string // the path of the administrator's

	cmd   *exec.Cmd
	stdin io.Closer
}

// endTimeout is how long the processes may take to end.
const endTimeout = time.Minute

// Start runs a program like test/cluster/cmd/devcluster, with more flags, and returns when the
// control plane can be used. It ends with the context, or by Stop.
func Start(ctx context.Context, binary string, flags ...string) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "kopf-bench-")
	if err != nil {
		return nil, err
	}
	arguments := append([]string{"run", "--dir", dir, "--remove", "--until-stdin-closes", "--no-fsync", "--controllers=false"}, flags...)
	c := &Cluster{Dir: dir, cmd: exec.CommandContext(ctx, binary, arguments...)}
	var stderr bytes.Buffer
	c.cmd.Stderr = &stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	c.cmd.Cancel = c.stdin.Close // it deletes its folder then
	c.cmd.WaitDelay = endTimeout
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the cluster: %w", err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n') // an early end is an empty line
	kubeconfig, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ready {
		return nil, errors.Join(errors.New("the cluster does not start"), c.Stop(), errors.New(strings.TrimSpace(stderr.String())))
	}
	c.Kubeconfig = kubeconfig
	return c, nil
}

// PID returns the process of the control plane, which is the parent of its other ones.
func (c *Cluster) PID() int { return c.cmd.Process.Pid }

// Stop ends the control plane and deletes its folder.
func (c *Cluster) Stop() error {
	_ = c.stdin.Close()
	return c.cmd.Wait()
}
