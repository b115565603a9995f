//go:build cluster

package main

import (
	"testing"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

// [scenarios]

func TestScenarios(t *testing.T) {
	kopftest.Scenarios(t, "--module", kopftest.Build(t), "operator_test.yaml")
}

// [/scenarios]
