// Command errors shows what errors of handlers mean.
package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnUpdate("kopfexamples", wrapped)
}

// [temporary]

func init() {
	kopf.OnCreate("kopfexamples", provision)
}

func provision(c *kopf.Change) (any, error) {
	if !c.Status.Get("volume").Exists() {
		return nil, kopf.Temporary("the volume is not ready", kopf.Delay(10*time.Second))
	}
	return nil, nil
}

// [/temporary]

// [permanent]

func check(c *kopf.Change) error {
	if c.Spec.Get("size").Int() > 100 {
		return kopf.Permanent("sizes over 100 are not possible")
	}
	return nil
}

// [/permanent]

var errQuota = errors.New("over the quota")

// [wrapped]

func wrapped(c *kopf.Change) (any, error) {
	if err := check(c); err != nil {
		return nil, fmt.Errorf("checking %s: %w", c.Name, err) // still permanent
	}
	if err := reserve(); errors.Is(err, errQuota) {
		return nil, kopf.TemporaryFrom(err, "reserving", kopf.Delay(time.Minute))
	}
	return nil, nil
}

// [/wrapped]

func reserve() error { return errQuota }

// [options]

func init() {
	kopf.OnCreate("kopfexamples", fragile,
		kopf.Errors(kopf.ErrorsTemporary), // or ErrorsPermanent, ErrorsIgnored
		kopf.Backoff(30*time.Second),
		kopf.Retries(5),
		kopf.Timeout(10*time.Minute))
}

// [/options]

func fragile(*kopf.Change) (any, error) { return nil, nil }

func main() {}
