// Command 19-memos remembers things between calls, without writing them to the cluster.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnStartup(prepare, kopf.ID("prepare"))
	kopf.OnEvent("kopfexamples", count, kopf.ID("count"))
	kopf.OnTimer("kopfexamples", report, kopf.ID("report"), kopf.Interval(3*time.Second))
}

// prepare fills the memo of the operator, which each object's memo begins as a copy of.
func prepare(a *kopf.Activity) (any, error) { return nil, a.Memo.Set("greeting", "hello") }

// count and report share the memo of their object; Update loses no changes.
func count(e *kopf.Event) (any, error) {
	return nil, e.Memo.Update("events", func(old kopf.View) (any, error) { return old.Int() + 1, nil })
}

func report(t *kopf.Timer) (any, error) {
	t.Log.Info(t.Memo.Get("greeting").String(), "events", t.Memo.Get("events"))
	return nil, nil
}

func main() {}
