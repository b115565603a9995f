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
			return usageError{fmt.Errorf("--limit %s: want NAME=VALUE, like max-memory=64Mi", limit)}
		}
		if err := o.SetLimit(limitName(name), value); err != nil {
			return usageError{fmt.Errorf("--limit: %w", err)}
		}
	}
	return nil
}

// limitName is the name of a limit that is written as flags are: MaxMemory for max-memory.
func limitName(written string) string {
	for _, name := range operator.LimitNames() {
		if strings.EqualFold(name, strings.ReplaceAll(written, "-", "")) {
			return name
		}
	}
	return written
}
