package reactor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/streams"
)

// ErrLeaseLost means that the operator was the leader of its replicas, and cannot be certain that it still is. It ends
// then. What its handlers do in other systems may still go on, so the process should end, too.
var ErrLeaseLost = leadership.ErrLost

// releaseTimeout limits the last request of a leader.
const releaseTimeout = 5 * time.Second

// Lease is the Lease by which the replicas of an operator elect their leader. All of them have the same Name, Namespace
// and Terms.
type Lease struct {
	Namespace string // empty: the default namespace of the credentials, which is that of the pod; else "default"
	Name      string
	Terms     leadership.Terms
}

// replica is what an operator with replicas knows of the leader. A nil replica is an operator without others: it
// always leads.
type replica struct {
	election *leadership.Election
	led      chan struct{} // closed when it is the leader
	log      zerolog.Logger
}

// newReplica makes the replica of an operator; nil without a Lease, and in a dry run, which
// works next to the leader.
func (op *Operator) newReplica(info credentials.Info, log zerolog.Logger) (*replica, error) {
	if op.Lease == nil || op.DryRun != nil {
		return nil, nil
	}
	client := clients.New(op.vault, op.requestOptions, func(string) {}) // renewals wait for no other request
	store, err := leadership.In(client, cmp.Or(op.Lease.Namespace, info.DefaultNamespace, "default"), op.Lease.Name)
	if err != nil {
		return nil, fmt.Errorf("the lease of the replicas: %w", err)
	}
	log = log.With().Str(loggers.Field, "kopf.replicas").Logger()
	op.pauses.Set(pauses.Reason{Standby: true}, true)
	return &replica{
		election: &leadership.Election{Store: store, Identity: op.identity() + "_" + rand.Text()[:8], Terms: op.Lease.Terms, Log: func(text string) { log.Info().Msg(text) }},
		led:      make(chan struct{}), log: log,
	}, nil
}

// lead takes part in the election until the context ends, and lets the operator work when it is the leader.
//
// Errors: ErrLeaseLost.
func (op *Operator) lead(ctx context.Context) error {
	r := op.replica
	if r == nil {
		return nil
	}
	err := r.election.Run(ctx, func() {
		close(r.led)
		op.pauses.Set(pauses.Reason{Standby: true}, false)
		e := op.generations.Hold()
		defer e.Release()
		if err := op.works.Start(ctx, op.activity(e, abi.KindBackground), e, op.runnables); err != nil {
			r.log.Error().Err(err).Msg("background handlers cannot be started")
		}
	})
	if err != nil {
		close(op.lost)
	}
	return err
}

// afterLoss waits for the end of an operator that is not the leader any more. Another replica leads soon, so handlers
// that do not end in time are left running.
func (op *Operator) afterLoss(done <-chan error) error {
	timer := time.NewTimer(op.Lease.Terms.Margin())
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("%w: %w: handlers still run", ErrLeaseLost, ErrExitTimeout)
	}
}

// leads reports whether the replica has become the leader.
func (r *replica) leads() bool {
	if r == nil {
		return true
	}
	select {
	case <-r.led:
		return true
	default:
		return false
	}
}

// await waits until the replica is the leader. It returns only the context's error.
func (r *replica) await(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.led:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leader is what streams need to know.
func (r *replica) leader() *streams.Leader {
	if r == nil {
		return nil
	}
	return &streams.Leader{Guard: r.election, Led: r.led}
}

// release lets another replica be the leader at once.
func (r *replica) release(ctx context.Context) {
	if r == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := r.election.Release(ctx); err != nil && !errors.Is(err, ErrLeaseLost) {
		r.log.Warn().Err(err).Msg("The lease could not be released: another replica leads when it has expired.")
	}
}

// Leader returns the identity of the leader of the replicas as it was last seen, and whether the operator is the
// leader. Shared is false if the operator has no replicas.
func (op *Operator) Leader() (identity string, leads, shared bool) {
	if op.Lease == nil || !op.serving.Load() {
		return "", false, op.Lease != nil
	}
	identity, leads = op.replica.election.Standing()
	return identity, leads, true
}
