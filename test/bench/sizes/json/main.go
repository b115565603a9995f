// Command json is the smallest operator, with package encoding/json: for its size.
package main

import (
	"encoding/json"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() { kopf.OnCreate("kopfexamples", createFn) }

func createFn(c *kopf.Change) (any, error) {
	var spec struct{ Field string }
	if err := json.Unmarshal([]byte(c.Spec.Get("field").String()), &spec.Field); err != nil {
		return nil, err
	}
	c.Patch.Status.Set("seen", spec.Field)
	return kopf.Map{"message": "hello"}, nil
}

func main() {}
