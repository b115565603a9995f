// Command probing shows handlers for liveness probes.
package main

import (
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// [probe]

func init() {
	kopf.OnProbe(now)
	kopf.OnProbe(handled)
}

func now(p *kopf.Activity) (any, error) {
	return time.Now().UTC().Format(time.RFC3339), nil
}

func handled(p *kopf.Activity) (any, error) {
	return p.Memo.Get("handled").Int(), nil
}

// [/probe]

func main() {}
