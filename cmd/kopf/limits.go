package main

import (
	"fmt"
	"strings"
)

// setLimits sets the limits of the --limit flags, which are among the known ones, by a function.
func setLimits(set func(name, value string) error, known, limits []string) error {
	for _, limit := range limits {
		name, value, ok := strings.Cut(limit, "=")
		if !ok {
			return usageError{fmt.Errorf("--limit %s: want NAME=VALUE, like max-memory=64Mi", limit)}
		}
		if err := set(limitName(name, known), value); err != nil {
			return usageError{fmt.Errorf("--limit: %w", err)}
		}
	}
	return nil
}

// limitName is the name of a limit that is written as flags are: MaxMemory for max-memory.
func limitName(written string, known []string) string {
	for _, name := range known {
		if strings.EqualFold(name, strings.ReplaceAll(written, "-", "")) {
			return name
		}
	}
	return written
}
