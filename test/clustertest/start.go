package clustertest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Options describe a cluster. The zero value is a cluster with controllers,
// without an audit log, in a temporary folder.
type Options struct {
	// Dir is the data folder, which is kept. A cluster started again on it
	// has the same objects and, if it is still free, the same port. Empty
	// means a temporary folder, which is deleted at the end.
	Dir string

	// Port of the API server. Zero means that of the last start in Dir, or
	// any free one.
	Port int

	// NoControllers saves half a second, and 50 MB of memory. Namespaces
	// then never go away, and nothing is garbage-collected.
	NoControllers bool

	// Audit makes ControlPlane.AuditLog work.
	Audit bool

	// AuditUsers are those recorded in the audit log. Empty means the
	// operators: operator0a, operator0b … operator23b. A single "all" means
	// everybody, the control plane included.
	AuditUsers []string
}

// stopTimeout is how long a cluster may take to stop before it is killed.
const stopTimeout = time.Minute

// Start starts a cluster for one test, and stops it when the test ends. Most
// tests want the shared one of Cluster, which is there already.
func Start(tb testing.TB, o Options) *ControlPlane {
	tb.Helper()
	cluster, err := launch(o)
	failOrSkip(tb, err)
	tb.Cleanup(func() {
		if err := cluster.stop(); err != nil {
			tb.Errorf("cluster: %v", err)
		}
	})
	return cluster
}

// server is the process of a cluster. It ends when its standard input is
// closed: by stop, or by the end of this process, however it comes.
type server struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	exited chan struct{} // closed when err is set
	killed atomic.Bool
	err    error
}

// launch starts a cluster and returns when it can be used.
func launch(o Options) (*ControlPlane, error) {
	binary, err := findBinary()
	if err != nil {
		return nil, err
	}
	dir, args := o.Dir, o.args()
	if dir == "" {
		if dir, err = os.MkdirTemp("", "kopf-cluster-"); err != nil {
			return nil, err
		}
		args = append(args, "--remove")
	}
	s, kubeconfig, err := startServer(exec.Command(binary, append(args, "--dir", dir)...))
	if err != nil {
		return nil, err
	}
	cluster, err := connect(kubeconfig)
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	cluster.server = s
	return cluster, nil
}

// args returns the command line without the folder.
func (o Options) args() []string {
	args := []string{
		"run", "--no-fsync", "--until-stdin-closes",
		"--port", strconv.Itoa(o.Port),
		fmt.Sprintf("--controllers=%t", !o.NoControllers),
	}
	if o.Audit {
		args = append(args, "--audit")
	}
	if len(o.AuditUsers) > 0 {
		args = append(args, "--audit-users", strings.Join(o.AuditUsers, ","))
	}
	return args
}

// startServer runs the command until it says that it is ready. The command
// itself bounds the time for that.
func startServer(cmd *exec.Cmd) (s *server, kubeconfig string, err error) {
	s = &server{cmd: cmd, exited: make(chan struct{})}
	cmd.Stderr = &s.stderr
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, "", err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n') // an early end is an empty line
	go s.wait()                                         // ends with the process; waited for by stop
	kubeconfig, ready := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "ready ")
	if !ready {
		<-s.exited
		return nil, "", fmt.Errorf("start: %w", s.err)
	}
	return s, kubeconfig, nil
}

func (s *server) wait() {
	err := s.cmd.Wait()
	if text := strings.TrimSpace(s.stderr.String()); text != "" {
		err = errors.Join(err, errors.New(text))
	}
	s.err = err
	close(s.exited)
}

// ended tells whether the cluster is gone, and why.
func (s *server) ended() (bool, error) {
	select {
	case <-s.exited:
		return true, s.err
	default:
		return false, nil
	}
}

// kill ends the process, however busy it is. A later stop finds nothing to do.
func (s *server) kill() error {
	s.killed.Store(true)
	err := s.cmd.Process.Kill()
	<-s.exited
	return err
}

// stop ends the cluster. Its error is that of a cluster which did not end in
// order, or had failed before.
func (s *server) stop() error {
	_ = s.stdin.Close() // again is harmless
	select {
	case <-s.exited:
		if s.killed.Load() {
			return nil
		}
		return s.err
	case <-time.After(stopTimeout):
		err := fmt.Errorf("did not stop in %v", stopTimeout)
		err = errors.Join(err, s.cmd.Process.Kill())
		<-s.exited
		return errors.Join(err, s.err)
	}
}
