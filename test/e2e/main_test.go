// Package e2e_test runs whole operators on a real control plane: guests that are
// compiled from source, driven by the embedding API in this process, or by the
// command line in processes of their own.
//
// Each test has a namespace for itself, and its operators serve nothing else; so
// the tests of this package share one cluster and run side by side.
package e2e_test

import (
	"flag"
	"testing"

	"github.com/kopf-wasm/kopf/test/clustertest"
)

// parallel is how many tests run at once, on whatever number of cores: most of
// the time they wait.
const parallel = "10"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallel); err != nil { // the command line still wins
		panic(err)
	}
	clustertest.Main(m)
}
