// Command 12-embedded is an operator that an application runs and gives a memo: see the folder application.
package main

import (
	"cmp"
	"strings"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", greet, kopf.ID("create_fn"))
	kopf.OnDelete("kopfexamples", leave, kopf.ID("delete_fn"))
}

// text is a text of the application, with the name of the object.
func text(c *kopf.Change, key, otherwise string) string {
	return strings.ReplaceAll(cmp.Or(c.Memo.Get(key).String(), otherwise), "{name}", c.Name)
}

func greet(c *kopf.Change) (any, error) {
	c.Patch.Status.Set("greeting", text(c, "greeting", "Hello, {name}!"))
	return nil, nil
}

func leave(c *kopf.Change) (any, error) {
	c.Log.Info(text(c, "farewell", "Good-bye, {name}!"))
	return nil, nil
}

func main() {}
