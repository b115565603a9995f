package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/replicas"
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

// addHostFlags adds the flags of a host of many operators.
func (o *replicaOptions) addHostFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.mode, "replicas", "", "serve as one of several hosts in this `MODE`: leader (one of them runs the operators, and the others stand by) or shared (all of them run the operators, and each object belongs to one of them); with --install, print the role for it")
	flags.StringVar(&o.wants.Lease, "lease", "", "the lease of the hosts: `[NAMESPACE/]NAME` (default "+replicas.DefaultLease+", in the namespace of the pod)")
	flags.DurationVar(&o.wants.Duration, "lease-duration", operator.DefaultLeaseDuration, "how long hosts wait for a leader that is silent")
}

// checkReplicas checks the flags of replicas, and the flags that do not go with them.
//
// Errors: usageError.
func (o *serveOptions) checkReplicas(flags *pflag.FlagSet) error {
	switch {
	case o.replicas.mode == replicasShared && o.dir != "":
		return usageError{errors.New("--replicas shared is for declarations of a cluster, where the leader writes what all hosts run: want leader, or leave out the directory")}
	case o.replicas.mode != "" && (o.dryRun || o.watchRoles):
		return usageError{errors.New("--replicas is for hosts that serve: leave out --dry-run and --watch-roles")}
	}
	if err := o.replicas.check(flags); err != nil || o.replicas.mode == "" {
		return err
	}
	if server := jsonOf(o.admission); server != nil && !o.install {
		if err := operator.CheckCertificate(server); err != nil {
			return usageError{fmt.Errorf("--admission-server: %w", err)}
		}
	}
	return nil
}

// replica makes the host one of several; nil without --replicas.
//
// Errors: usageError; the host may not use the Lease.
func (o *serveOptions) replica(ctx context.Context, config *rest.Config, namespace string) (*replicas.Replica, error) {
	if o.replicas.mode == "" {
		return nil, nil
	}
	replica, err := replicas.New(ctx, replicas.Options{Config: config, Namespace: namespace, Lease: o.replicas.wants.Lease, Duration: o.replicas.wants.Duration, Shared: o.replicas.wants.Shared})
	if errors.Is(err, operator.ErrReplicas) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	return replica, replica.Check(ctx)
}

// check checks the flags, and sets the mode of the replicas. Flags are those of the command, which may have none of these.
//
// Errors: usageError.
func (o *replicaOptions) check(flags *pflag.FlagSet) error {
	switch {
	case o.mode == "" && (flags.Changed("lease") || flags.Changed("lease-duration")):
		return usageError{errors.New("--lease and --lease-duration are for replicas: add --replicas leader or --replicas shared")}
	case flags.Changed("lease-duration") && o.wants.Duration <= 0: // 0 would be the default
		return usageError{fmt.Errorf("--lease-duration %v: want a time, like 15s", o.wants.Duration)}
	case flags.Changed("replicas") && o.mode != replicasLeader && o.mode != replicasShared: // also if it is empty: without a mode, each replica would handle all objects
		return usageError{fmt.Errorf("--replicas %q: want leader or shared", o.mode)}
	}
	o.wants.Leader, o.wants.Shared = o.mode == replicasLeader, o.mode == replicasShared
	return nil
}
