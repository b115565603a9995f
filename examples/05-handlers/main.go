// Command 05-handlers has one handler for each thing that happens to an object, and two for
// some of them.
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", createdFirst, kopf.ID("created_first"))
	kopf.OnCreate("kopfexamples", createdSecond, kopf.ID("created_second"))
	kopf.OnResume("kopfexamples", resumed, kopf.ID("resumed"))
	kopf.OnUpdate("kopfexamples", updated, kopf.ID("updated"))
	kopf.OnField("kopfexamples", changed, kopf.ID("changed"), kopf.Field("spec.field"))
	kopf.OnDelete("kopfexamples", deletedFirst, kopf.ID("deleted_first"))
	kopf.OnDelete("kopfexamples", deletedSecond, kopf.ID("deleted_second"))
}

func createdFirst(*kopf.Change) (any, error)    { return "yes", nil }
func createdSecond(c *kopf.Change) (any, error) { return c.Spec.Get("field"), nil }

// resumed is called when the operator has restarted, and the object is not new.
func resumed(c *kopf.Change) (any, error) {
	c.Patch.Status.Set("resumed", true)
	return nil, nil
}

func updated(c *kopf.Change) (any, error) {
	var changes [][]any
	for _, item := range c.Diff() {
		changes = append(changes, []any{item.Op, strings.Join(item.Path, "."), item.Old, item.New})
	}
	return changes, nil
}

func changed(c *kopf.Change) (any, error) {
	old := "None"
	if !c.Old.IsNull() {
		old = c.Old.String()
	}
	return fmt.Sprintf("%s -> %s", old, c.New.String()), nil
}

func deletedFirst(c *kopf.Change) (any, error) {
	c.Log.Info("the object waits for this handler")
	return nil, nil
}

func deletedSecond(c *kopf.Change) (any, error) {
	if c.Retry == 0 {
		return nil, kopf.Temporary("and for this one", kopf.Delay(time.Second))
	}
	c.Log.Info("good-bye")
	return nil, nil
}

func main() {}
