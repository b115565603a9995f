package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/operator/logs"
)

// choices are the values of flags that several commands have.
var choices = map[string][]string{
	"guest-output": {outputStdout, outputLog},
	"log-format":   {string(logs.Plain), string(logs.Full), string(logs.JSON)},
	"pull":         {string(modules.Always), string(modules.Missing), string(modules.Never)},
	"replicas":     {replicasLeader, replicasShared},
}

// completeFlags lets the shell complete the values of the flags with a choice, and shows their descriptions without quotes, if it is the
// shell that asks.
func completeFlags(root *cobra.Command, args []string) {
	if len(args) == 0 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		return
	}
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			flag.Usage = strings.ReplaceAll(flag.Usage, "`", "")
			if values, ok := choices[flag.Name]; ok && flag.Value.Type() == "string" { // kopf manifest has a number of replicas
				completeFlag(cmd, flag.Name, values...)
			}
		})
	}
}

// completeFlag lets the shell complete the values of a flag.
func completeFlag(cmd *cobra.Command, name string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags only
}
