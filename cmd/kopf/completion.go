package main

import (
	"github.com/spf13/cobra"

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

// completeChoices lets the shell complete the values of the flags with a choice.
func completeChoices(cmd *cobra.Command) {
	for name, values := range choices {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Value.Type() == "string" { // kopf manifest has a number of replicas
			completeFlag(cmd, name, values...)
		}
	}
}

// completeFlag lets the shell complete the values of a flag.
func completeFlag(cmd *cobra.Command, name string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags only
}
