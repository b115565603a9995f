// Command 14-daemons keeps a daemon for each object: plain code that waits, sees
// the changes of its object, and ends when it is stopped.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnDaemon("kopfexamples", monitor, kopf.ID("monitor"), kopf.CancellationTimeout(10*time.Second))
	kopf.OnBackground(poll, kopf.ID("poll"))
}

func monitor(d *kopf.Daemon) (any, error) {
	for !d.Wait(2 * time.Second) {
		d.Log.Info("still there", "field", d.Spec.Get("field"))
	}
	d.Log.Info("good-bye", "why", d.StopReasons())
	return nil, nil
}

// poll belongs to no object: it runs as long as the operator.
func poll(b *kopf.Background) (any, error) {
	for !b.Wait(5 * time.Second) {
		b.Log.Info("the operator is there, too")
	}
	return nil, nil
}

func main() {}
