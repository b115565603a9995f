// Command filtered is the guest of many operators that share one resource: its handler sees
// the objects whose label "only" has the value of the configuration.
package main

import "github.com/kopf-wasm/kopf/guest-sdks/go/kopf"

func init() {
	kopf.Setup(func() error {
		kopf.OnEvent("kopfexamples", seen, kopf.ID("seen"), kopf.Label("only", kopf.Config("only")))
		return nil
	})
}

func seen(*kopf.Event) (any, error) { return nil, nil }

func main() {}
