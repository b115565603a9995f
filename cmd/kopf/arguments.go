package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// noArgs refuses arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}

// noEmptyArgs refuses arguments without text, as shell variables are that are not set: some would mean
// the current folder. The shell asks for completions of an empty word.
func noEmptyArgs(cmd *cobra.Command, args []string) error {
	if i := slices.Index(args, ""); i >= 0 && cmd.Name() != cobra.ShellCompRequestCmd {
		return usageError{fmt.Errorf("argument %d is empty", i+1)}
	}
	return nil
}

// cutPair cuts an item of a repeatable flag, which has the form KEY=VALUE or KEY=PATH.
func cutPair(flag, item, form string) (key, value string, err error) {
	key, value, ok := strings.Cut(item, "=")
	if !ok || key == "" {
		return "", "", usageError{fmt.Errorf("%s %q: want %s", flag, item, form)}
	}
	return key, value, nil
}

// pairs parses a repeatable flag with KEY=VALUE. It returns nil without items.
func pairs(flag string, items []string) (map[string]string, error) {
	var found map[string]string
	for _, item := range items {
		key, value, err := cutPair(flag, item, "KEY=VALUE")
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = map[string]string{}
		}
		found[key] = value
	}
	return found, nil
}
