// Command 08-events sees each event of the watch. Nothing is stored about its handlers, and
// they are not repeated.
package main

import (
	"errors"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnEvent("kopfexamples", fails, kopf.ID("fails"))
	kopf.OnEvent("kopfexamples", sees, kopf.ID("sees"))
}

func fails(*kopf.Event) (any, error) { return nil, errors.New("logged, and ignored") }

func sees(e *kopf.Event) (any, error) {
	e.Log.Info("seen", "type", e.Type)
	if e.Type != "DELETED" {
		e.Patch.Status.Set("seen", e.Spec.Get("field"))
	}
	return nil, nil
}

func main() {}
