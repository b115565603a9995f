// Command memos shows what the host remembers between calls.
package main

import (
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [object]

func init() {
	kopf.OnEvent("kopfexamples", count)
}

func count(e *kopf.Event) (any, error) {
	err := e.Memo.Update("events", func(old kopf.View) (any, error) {
		return old.Int() + 1, nil
	})
	e.Log.Info("events so far", "count", e.Memo.Get("events"))
	return nil, err
}

// [/object]

// [operator]

func init() {
	kopf.OnStartup(prepare)
	kopf.OnCreate("kopfexamples", create)
}

func prepare(a *kopf.Activity) (any, error) {
	return nil, a.Memo.Set("greeting", "hello")
}

func create(c *kopf.Change) (any, error) {
	c.Log.Info(c.Memo.Get("greeting").String()) // the object's own copy
	return nil, c.OperatorMemo().Set("last", c.Name)
}

// [/operator]

func main() {}
