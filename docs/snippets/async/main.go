// Command async shows how handlers wait.
package main

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnCreate("kopfexamples", create)
	kopf.OnUpdate("kopfexamples", update)
}

// [sleep]

func create(c *kopf.Change) (any, error) {
	if err := c.Sleep(30 * time.Second); err != nil {
		return nil, err // cancelled: the operator exits
	}
	c.Log.Info("half a minute later")
	return nil, nil
}

// [/sleep]

// [context]

func update(c *kopf.Change) (any, error) {
	return nil, poll(c.Context())
}

// poll knows nothing of handlers: it takes a context, as functions in Go do.
func poll(ctx context.Context) error {
	for range 3 {
		if err := kopf.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// [/context]

func main() {}
