//go:build cluster

package main

import (
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

// [operator]

func TestOperator(t *testing.T) {
	runner := kopftest.Start(t, "run", "operator.wasm", "-n", "default", "--verbose")
	runner.Until(t, "Handling cycle is finished", time.Minute)
	if code := runner.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// [/operator]
