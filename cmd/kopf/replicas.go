package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kopf-wasm/kopf/operator"
)

// The modes of --replicas.
const (
	replicasLeader = "leader"
	replicasShared = "shared"
)

// replicaOptions are the flags of a process that is one of several replicas.
type replicaOptions struct {
	mode  string // empty: the process has no other replicas
	wants operator.Replicas
}

func (o *replicaOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.mode, "replicas", "", "run as one of several replicas in this `MODE`: leader (one of them handles the objects, and the others wait) or shared (each object belongs to one of them)")
	flags.StringVar(&o.wants.Lease, "lease", "", "the lease of the replicas: `[NAMESPACE/]NAME` (default the name of the operator, in the namespace of the pod)")
	flags.DurationVar(&o.wants.Duration, "lease-duration", operator.DefaultLeaseDuration, "how long replicas wait for one that is silent")
}

// check checks the flags, and sets the mode of the replicas. Flags are those of the command, which may have none of these.
//
// Errors: usageError.
func (o *replicaOptions) check(flags *pflag.FlagSet) error {
	switch {
	case o.mode == "" && (flags.Changed("lease") || flags.Changed("lease-duration")):
		return usageError{errors.New("--lease and --lease-duration are for replicas: add --replicas leader or --replicas shared")}
	case o.mode != "" && o.mode != replicasLeader && o.mode != replicasShared:
		return usageError{fmt.Errorf("--replicas %q: want leader or shared", o.mode)}
	}
	o.wants.Leader, o.wants.Shared = o.mode == replicasLeader, o.mode == replicasShared
	return nil
}
