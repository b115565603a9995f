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
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	return nil, poll(ctx)
}

// poll knows nothing of handlers: it takes a context, as functions in Go do.
func poll(ctx context.Context) error {
	for {
		pod, err := kopf.NewAPI(ctx, "v1", "pods").Get("db-0")
		if err != nil || pod.Get("status", "phase").String() == "Running" {
			return err
		}
		if err := kopf.Sleep(ctx, time.Second); err != nil {
			return err // context.DeadlineExceeded after a minute
		}
	}
}

// [/context]

func main() {}
