package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is a paragraph of a help text.
type flagGroup struct {
	title string
	names []string // of flags; a name that ends with - stands for all flags that begin so
}

// runGroups are the groups of the flags of kopf run, which has too many for one list.
var runGroups = []flagGroup{
	{"What is served", []string{"namespace", "all-namespaces", "kubeconfig", "context", "standalone", "peering", "priority"}},
	{"How it runs", []string{"dev", "once", "dry-run", "output", "replicas", "lease", "lease-duration", "follow", "record", "record-limit", "cluster"}},
	{"Configuration of the operator", []string{"config", "config-file", "env", "settings", "set", "module", "packages", "engine"}},
	{"Grants and limits", []string{"allow-", "limit"}},
	{"Admission", []string{"admission-"}},
	{"Probes, metrics and logs", []string{"liveness", "listen", "traces", "guest-output", "verbose", "debug", "quiet", "log-", "no-log-prefix", "full-stacks"}},
	{"Registries and signatures", []string{"pull", "sources-path", "docker-config-json-path", "verify", "verification-", "cert-", "github-", "sigstore-"}},
}

func (g flagGroup) has(name string) bool {
	return slices.ContainsFunc(g.names, func(n string) bool {
		return n == name || strings.HasSuffix(n, "-") && strings.HasPrefix(name, n)
	})
}

// group shows the flags of a command in groups, and those that are in none at the end.
func group(cmd *cobra.Command, groups []flagGroup) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		sets := make([]*pflag.FlagSet, len(groups)+1)
		for i := range sets {
			sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			i := slices.IndexFunc(groups, func(g flagGroup) bool { return g.has(flag.Name) })
			if i < 0 {
				i = len(groups)
			}
			sets[i].AddFlag(flag)
		})
		for i, set := range sets {
			title := "Other flags"
			if i < len(groups) {
				title = groups[i].title
			}
			if usages := set.FlagUsages(); usages != "" {
				fmt.Fprintf(out, "\n%s:\n%s", title, usages)
			}
		}
		return nil
	})
}
