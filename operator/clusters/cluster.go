// Package clusters runs throw-away clusters: an API server with etcd and controllers in one
// program, without nodes. The program is built from the sources of kopf, and not part of it.
package clusters

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kopf-wasm/kopf/operator/toolchains"
)

// Variable is the environment variable that names the program.
const Variable = "KOPF_DEVCLUSTER"

// program is the name of the program.
const program = "devcluster"

// ErrNotStarted says that the program ended before its cluster was ready.
var ErrNotStarted = errors.New("the cluster did not start")

// Cluster is a cluster that runs.
type Cluster struct {
	Kubeconfig string // the path of its kubeconfig, for an administrator

	process *exec.Cmd
	folder  string
	alive   io.Closer // the program ends when it is closed
}

// Find returns the path of the program: the variable, in the PATH, in the folder of this program,
// or where `make devcluster` puts it in a clone.
//
// Errors: *toolchains.MissingError.
func Find() (path string, err error) {
	if given := os.Getenv(Variable); given != "" {
		return filepath.Abs(given)
	}
	if found, err := exec.LookPath(program); err == nil {
		return filepath.Abs(found)
	}
	if own, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(own); err == nil {
			own = real
		}
		for _, place := range []string{program, "../.cache/bin/" + program} {
			path := filepath.Join(filepath.Dir(own), place)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", &toolchains.MissingError{
		What: "the program " + program + " of throw-away clusters",
		Get:  []string{"make devcluster in a clone of kopf (some minutes), with .cache/bin in the PATH, or the file named by $" + Variable},
	}
}

// Start starts an empty cluster, and returns when it is ready. What the program says goes to the
// messages. The caller must stop it; it also ends with this process.
//
// Errors: *toolchains.MissingError, ErrNotStarted, and those of processes.
func Start(ctx context.Context, messages io.Writer) (*Cluster, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	if c.folder, err = os.MkdirTemp("", "kopf-cluster-"); err != nil {
		return nil, err
	}
	if err := c.start(ctx, path, messages); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.folder))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, path string, messages io.Writer) error {
	c.process = exec.Command(path, "run", "--dir", filepath.Join(c.folder, "data"), "--no-fsync", "--remove", "--until-stdin-closes") //nolint:noctx // Stop ends it in order
	c.process.Stderr = messages
	separate(c.process) // Ctrl-C is for the operator, which is stopped before its cluster
	input, err := c.process.StdinPipe()
	if err != nil {
		return err
	}
	c.alive = input
	output, err := c.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.process.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = input.Close() })
	defer stop()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if kubeconfig, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			c.Kubeconfig = kubeconfig
			go func() { _, _ = io.Copy(io.Discard, output) }() // Ends with the program.
			return nil
		}
	}
	_ = input.Close()
	return fmt.Errorf("%w: %s ended: %w", ErrNotStarted, program, errors.Join(c.process.Wait(), ctx.Err()))
}

// Stop ends the cluster, and removes its data.
func (c *Cluster) Stop() error {
	_ = c.alive.Close()
	_ = c.process.Wait() // how it ends does not matter any more
	return os.RemoveAll(c.folder)
}
