// Command daemons is the Go guest of the benchmark of daemons: one for each object,
// which looks at the object every ten seconds.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// period is that of the peers, too.
const period = 10 * time.Second

func init() { kopf.OnDaemon("kopfexamples", daemonFn, kopf.ID("daemon_fn")) }

func daemonFn(d *kopf.Daemon) (any, error) {
	looks := 0
	for !d.Wait(period) {
		if d.Spec.Get("field").String() != "" {
			looks++
		}
	}
	return nil, nil
}

func main() {}
