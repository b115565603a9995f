// Command startup shows handlers for the beginning and the end of an operator.
package main

import (
	"cmp"
	"errors"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [startup]

func init() {
	kopf.OnStartup(configure, kopf.Retries(3))
}

func configure(a *kopf.Activity) (any, error) {
	if kopf.Config("region") == "" {
		return nil, kopf.Permanent("run it with --config region=NAME")
	}
	a.Settings.Set("execution.default_backoff", 10*time.Second)
	return nil, nil
}

// [/startup]

// [cleanup]

func init() {
	kopf.OnCleanup(goodbye)
}

func goodbye(a *kopf.Activity) (any, error) {
	a.Log.Info("the operator ends")
	return nil, nil
}

// [/cleanup]

// [variables]

var region string

func init() {
	kopf.OnStartup(remember)
	kopf.OnCreate("kopfexamples", place)
}

func remember(*kopf.Activity) (any, error) {
	region = cmp.Or(kopf.Config("region"), "anywhere")
	return nil, nil
}

func place(c *kopf.Change) (any, error) {
	c.Patch.Spec.Set("region", region)
	return nil, nil
}

// [/variables]

// [setup]

func init() {
	kopf.Setup(func() error {
		kind := kopf.Config("resource")
		if kind == "" {
			return errors.New("run it with --config resource=NAME")
		}
		kopf.OnCreate(kind, create)
		return nil
	})
}

// [/setup]

func create(*kopf.Change) (any, error) { return nil, nil }

func main() {}
