// Command daemons shows handlers that run as long as an object exists.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [daemon]

func init() {
	kopf.OnDaemon("kopfexamples", monitor)
}

func monitor(d *kopf.Daemon) (any, error) {
	for !d.Stopped() {
		d.Log.Info("still there", "field", d.Spec.Get("field"))
		d.Wait(10 * time.Second)
	}
	d.Log.Info("good-bye", "why", d.StopReasons())
	return nil, nil
}

// [/daemon]

func init() {
	// [options]
	kopf.OnDaemon("kopfexamples", backup, kopf.Label("backup", kopf.Present),
		kopf.InitialDelay(30*time.Second),
		kopf.CancellationBackoff(10*time.Second),
		kopf.CancellationTimeout(20*time.Second))
	// [/options]
}

// [sleep]

func backup(d *kopf.Daemon) (any, error) {
	for !d.Stopped() {
		if err := d.Sleep(time.Hour); err != nil {
			return nil, err // cancelled
		}
	}
	return nil, nil
}

// [/sleep]

// [background]

func init() {
	kopf.OnBackground(poll)
}

func poll(b *kopf.Background) (any, error) {
	for !b.Wait(time.Minute) {
		if err := b.Memo.Set("polled", time.Now().Unix()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// [/background]

func main() {}
