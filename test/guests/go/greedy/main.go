// Command greedy is an operator for KopfExamples that lets the host keep as much as it can get
// hold of. What of, its objects say: memo, operator memo, index, children, results, body, events.
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

const resource = "kopfexamples"

// wants chooses the objects that say so.
func wants(what string) kopf.FilterOption {
	return kopf.Join(kopf.Field("spec", "do"), kopf.Value(what))
}

func init() {
	kopf.OnIndex(resource, indexFn, wants("index"))
	kopf.OnEvent(resource, eventFn, wants("events"))
	kopf.OnDaemon(resource, daemonFn, wants("body"))
	kopf.OnCreate(resource, createFn, kopf.Backoff(time.Second))
}

var large = strings.Repeat("x", 100_000)

func indexFn(*kopf.Indexed) (any, error) {
	pairs := kopf.Pairs{}
	for i := range 1000 {
		pairs = append(pairs, kopf.Pair{Key: fmt.Sprintf("%d-%.1000s", i, large), Value: i})
	}
	return pairs, nil
}

// eventFn is so slow that events wait.
func eventFn(e *kopf.Event) (any, error) {
	fmt.Println("event", e.Spec.Get("number").Int())
	return nil, e.Sleep(time.Second)
}

func daemonFn(d *kopf.Daemon) (any, error) {
	fmt.Println("daemon", d.Name)
	for !d.Wait(time.Minute) {
	}
	return nil, nil
}

func createFn(c *kopf.Change) (any, error) {
	switch c.Spec.Get("do").String() {
	case "memo":
		return nil, fill(c.Memo)
	case "operator memo":
		return nil, fill(c.OperatorMemo())
	case "children":
		return nil, children(c)
	case "results":
		return strings.Repeat(large, 20), nil
	}
	return nil, nil
}

// fill stores values until the host refuses one.
func fill(m kopf.Memo) error {
	for i := 0; ; i++ {
		if err := m.Set(fmt.Sprint("key", i), large); err != nil {
			return err
		}
	}
}

func children(c *kopf.Change) error {
	var subs []kopf.SubHandler
	for i := range 1000 {
		subs = append(subs, kopf.Sub(fmt.Sprint("child", i), func(*kopf.Change) (any, error) { return nil, nil }))
	}
	return c.Execute(subs...)
}

func main() {}
