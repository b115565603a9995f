// Package hostile_test lets operators of strangers attack a host: `kopf serve` in a process of
// its own, on a real control plane. Each attacker is an operator, or a declaration, that tries
// one thing against the host, against another operator or against the cluster.
//
// Attackers act in waves, several at the same time, and each in a namespace of its own. After
// each wave, the host is the same process and answers, an operator that behaves well has
// handled its 100 objects, and each attacker is named: by a condition of its declaration, by a
// limit that has counted it, or by a record of its own log.
//
// The short form runs the attackers that are marked as quick. KOPF_HOSTILE=full runs all:
// `make hostile`.
package hostile_test

import (
	"flag"
	"testing"

	"github.com/kopf-wasm/kopf/test/clustertest"
)

// parallel is how many attackers of a wave act at once: most of the time they wait.
const parallel = "20"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallel); err != nil { // the command line still wins
		panic(err)
	}
	clustertest.Main(m)
}
