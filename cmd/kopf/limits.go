package main

import (
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/operator"
)

// setLimits sets the limits of the --limit flags.
func setLimits(o *operator.Options, limits []string) error {
	for _, limit := range limits {
		name, value, ok := strings.Cut(limit, "=")
		if !ok {
			return usageError{fmt.Errorf("--limit %s: want NAME=VALUE, like MaxMemory=64Mi", limit)}
		}
		if err := o.SetLimit(name, value); err != nil {
			return usageError{fmt.Errorf("--limit: %w", err)}
		}
	}
	return nil
}
