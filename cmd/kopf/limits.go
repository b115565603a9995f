package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// limitOptions is the flag of the limits of modules.
type limitOptions struct {
	limits []string
}

func (o *limitOptions) addLimitFlag(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.limits, "limit", nil, "a limit of the host for the modules, as in max-memory=64Mi: `NAME=VALUE` (repeatable)")
}

// setLimits sets the limits of the --limit flags, which are among the known ones, by a function.
func setLimits(set func(name, value string) error, known, limits []string) error {
	for _, limit := range limits {
		name, value, err := cutPair("--limit", limit, "NAME=VALUE, like max-memory=64Mi")
		if err != nil {
			return err
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
