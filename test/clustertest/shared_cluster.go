package clustertest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// shared is the cluster of the test binary. A test binary is one process, so
// there is nothing to hand it over with but a variable of the package.
var shared struct {
	sync.Mutex
	started bool
	cluster *ControlPlane // nil if the start failed
	err     error         // of the start
	skipped atomic.Int32  // tests that went without a cluster
}

// Main runs the tests, stops the cluster if there was one, and exits. It is
// the body of TestMain in each package that calls Cluster. A cluster that
// ended by itself during the tests makes them fail.
func Main(m *testing.M) {
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "clustertest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Cluster returns the cluster that the tests of this binary share, started by
// the first call. It has the controllers, and records the operator users in
// its audit log. Without the cluster's binary the test is skipped, or fails in
// CI; the message has the command that builds it.
func Cluster(tb testing.TB) *ControlPlane {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.started {
		shared.started = true
		shared.cluster, shared.err = openShared()
	}
	failOrSkip(tb, shared.err)
	return shared.cluster
}

func openShared() (*ControlPlane, error) {
	if path := os.Getenv(kubeconfigVar); path != "" {
		return connect(path)
	}
	return launch(Options{Audit: true})
}

func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	if n := shared.skipped.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "clustertest: %d tests were SKIPPED: %v\n", n, errNoBinary)
	}
	if shared.cluster == nil {
		return nil
	}
	return shared.cluster.stop()
}

// failOrSkip ends the test if there is an error.
func failOrSkip(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errNoBinary) && !inCI():
		shared.skipped.Add(1)
		tb.Skipf("SKIPPED: %v", err)
	default:
		tb.Fatalf("cluster: %v", err)
	}
}
