package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/internal/spelling"
)

// kopfOptions are the names that flags have in environment variables of Kopf, where these differ.
var kopfOptions = map[string]string{
	"all-namespaces": "clusterwide", "namespace": "namespaces", "liveness": "liveness_endpoint", "module": "modules",
}

// fromEnvironment sets flags that are not on the command line from environment variables, as
// Kopf does: --log-format of run is KOPF_RUN_LOG_FORMAT. Its names of options are accepted, too:
// KOPF_RUN_NAMESPACES has several values with spaces between them.
func fromEnvironment(cmd *cobra.Command) error {
	var failure error
	var known []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		known = append(known, variableOf(cmd, flag.Name))
		if option, ok := kopfOptions[flag.Name]; ok {
			known = append(known, variableOf(cmd, option))
		}
		if flag.Changed || failure != nil {
			return
		}
		failure = setFromEnvironment(cmd, flag, flag.Name, false)
		if option, ok := kopfOptions[flag.Name]; ok && failure == nil {
			failure = setFromEnvironment(cmd, flag, option, true)
		}
	})
	sayMistyped(cmd, known)
	return failure
}

// variableOf returns the name of the variable of an option.
func variableOf(cmd *cobra.Command, option string) string {
	return "KOPF_" + strings.ToUpper(strings.ReplaceAll(cmd.Name()+"_"+option, "-", "_"))
}

// sayMistyped warns of variables that differ from those of flags by a letter or two: they have no effect. Kubernetes sets others with
// this prefix, if a service is named so.
func sayMistyped(cmd *cobra.Command, known []string) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, variableOf(cmd, "")) || slices.Contains(known, name) {
			continue
		}
		for _, other := range known {
			if spelling.Distance(name, other) <= 2 {
				fmt.Fprintf(cmd.ErrOrStderr(), "Warning: the variable %s has no effect: did you mean %s?\n", legible.Lines(name), other)
				break
			}
		}
	}
}

// setFromEnvironment sets a flag from the variable of an option.
func setFromEnvironment(cmd *cobra.Command, flag *pflag.Flag, option string, split bool) error {
	name := variableOf(cmd, option)
	text, isSet := os.LookupEnv(name)
	if _, demands := flag.Value.(*demand); isSet && text == "" && (demands || strings.HasPrefix(flag.Name, "verification-")) {
		return usageError{fmt.Errorf("%s is empty, so signatures would not be verified as demanded: remove it, or give it a value", name)}
	}
	if text == "" {
		return nil
	}
	values := []string{text}
	switch {
	case flag.Value.Type() == "bool":
		values[0] = truth(text)
	case split && strings.HasSuffix(flag.Value.Type(), "Array"):
		values = strings.Fields(text)
	}
	set := flag.Name
	if set == "log-prefix" && values[0] == "false" {
		set, values[0] = "no-log-prefix", "true" // one option in Kopf
	}
	for _, value := range values {
		if err := cmd.Flags().Set(set, value); err != nil {
			return usageError{fmt.Errorf("%s=%q: %w", name, text, err)}
		}
	}
	return nil
}

// truth translates the spellings of Kopf that Go does not know.
func truth(text string) string {
	switch text = strings.ToLower(strings.TrimSpace(text)); text {
	case "yes", "y", "on", "1", "t":
		return "true"
	case "no", "n", "off", "0", "f":
		return "false"
	}
	return text
}
