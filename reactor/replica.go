package reactor

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/membership"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/signals"
	"github.com/kopf-wasm/kopf/reactor/streams"
)

// ErrLeaseLost means that the operator was the leader of its replicas, and cannot be certain that it still is. It ends
// then. Its handlers may still change other systems, so the process should end, too.
var ErrLeaseLost = leadership.ErrLost

// releaseTimeout limits the last request of a leader.
const releaseTimeout = 5 * time.Second

// Lease is the Lease by which the replicas of an operator elect their leader. All of them have the same Name, Namespace
// and Terms.
type Lease struct {
	Namespace string // empty: the default namespace of the credentials, which is that of the pod; else "default"
	Name      string
	Identity  string // of this replica: see ReplicaName; empty: that of the operator's identity
	Terms     leadership.Terms

	// Shared divides the objects between the replicas. The leader then only decides which replicas are members, and runs the background
	// handlers. See package membership.
	Shared bool

	// Leadership decides in place of a Lease of the operator's own: the operator is one of many of a host, and the hosts are the
	// replicas. Only the Terms matter then, and Shared. Nil: the operator has the Lease.
	Leadership Leadership

	// Yield is called when nothing is left of the operator's work on objects, so that the host does not need its Lease for them any
	// more. Webhooks and cleanup handlers may still run. An operator that ends before it has observed anything does not call it. It
	// is for operators with a Leadership, and may be nil.
	Yield func()
}

// Leadership is the part of one operator in what the replicas of its host agree on. Its Guard is about the objects that the
// operator handles.
type Leadership interface {
	patching.Guard

	// HoldLead is Hold for what only the leader may do.
	HoldLead() (until time.Time, err error)

	// Group returns where operators of hosts that share the objects join; nil if only the leader handles objects.
	Group() *membership.Group

	// Led returns a context that ends when this host is the leader. It is a context, so that waiting operators need no goroutines.
	Led() context.Context

	// Lost returns a context that ends when this host cannot be certain any more that no other one handles its objects.
	Lost() context.Context

	// Standing returns the identity of the leader of the hosts as it was last seen, and whether it is this one.
	Standing() (leader string, leads bool)
}

// hosted is the part of an operator whose host has the Lease.
type hosted struct {
	Leadership
	yield func()
}

// Start implements part.
func (h hosted) Start(_ context.Context, lead func(), ended func(err error)) (end func()) {
	var calls sync.WaitGroup
	calls.Add(2)
	led := context.AfterFunc(h.Led(), func() { //nolint:contextcheck // the host decides, for as long as it runs
		defer calls.Done()
		lead()
	})
	lost := context.AfterFunc(h.Lost(), func() { //nolint:contextcheck // the same
		defer calls.Done()
		ended(ErrLeaseLost)
	})
	return func() {
		for _, stop := range []func() bool{led, lost} {
			if stop() {
				calls.Done()
			}
		}
		calls.Wait()
	}
}

// Release implements part: the host releases the Lease when all of its operators have yielded.
func (h hosted) Release(context.Context) error {
	if h.yield != nil {
		h.yield()
	}
	return nil
}

// elected is the part of an operator that has a Lease of its own.
type elected struct{ candidate }

// candidate takes part in an election until the context ends. It calls lead when it becomes the leader.
type candidate interface {
	patching.Guard
	Run(ctx context.Context, lead func()) error
	Release(ctx context.Context) error
	Standing() (leader string, leads bool)
}

// Start implements part.
func (e elected) Start(ctx context.Context, lead func(), ended func(err error)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() { // Waited for by the returned function.
		defer close(over)
		if err := e.Run(ctx, lead); err != nil {
			ended(err)
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// part is what a replica does among the others. Start takes part until end is called, which waits for calls that it made. It calls
// lead when the replica becomes the leader, and ended when it cannot stay the leader.
type part interface {
	patching.Guard
	Start(ctx context.Context, lead func(), ended func(err error)) (end func())
	Release(ctx context.Context) error
	Standing() (leader string, leads bool)
}

// replica is what an operator with replicas knows of the leader. A nil replica is an operator without others: it
// always leads.
type replica struct {
	part
	group *membership.Group    // nil: only the leader handles objects
	held  *membership.Holdings // of the group
	led   *signals.Signal      // it is the leader

	holdLead func() (until time.Time, err error) // as Leadership.HoldLead
	log      zerolog.Logger
}

// join makes the operator one of a group.
func (r *replica) join(g *membership.Group) *replica {
	r.group, r.held = g, g.Join()
	return r
}

// shares reports whether the operator shares its objects with other replicas.
func (op *Operator) shares() bool { return op.Lease != nil && op.Lease.Shared && op.DryRun == nil }

// ReplicaName returns a name for a replica of an operator with an identity. Each call returns another
// name, because a pod can start an operator more than once.
func ReplicaName(identity string) string { return identity + "_" + rand.Text()[:8] }

// MemberOf returns the name of a replica among the members that share the objects: it is a part of the name of its Lease.
func MemberOf(replica string) string {
	return strings.ToLower(replica[strings.LastIndex(replica, "_")+1:])
}

// newReplica makes the replica of an operator; nil without a Lease, and in a dry run, which
// works next to the leader.
func (op *Operator) newReplica(info credentials.Info, log zerolog.Logger) (*replica, error) {
	if op.Lease == nil || op.DryRun != nil {
		return nil, nil
	}
	if hosts := op.Lease.Leadership; hosts != nil {
		r := &replica{part: hosted{hosts, op.Lease.Yield}, holdLead: hosts.HoldLead, led: signals.New(), log: log.With().Str(loggers.Field, "kopf.replicas").Logger()}
		if op.Lease.Shared {
			return r.join(hosts.Group()), nil
		}
		op.pauses.Set(pauses.Reason{Standby: true}, true)
		return r, nil
	}
	options := func() clients.Options {
		o := op.requestOptions()
		o.Tracer, o.Refused = nil, nil // renewals are many, and all alike
		return o
	}
	client := clients.New(op.vault, options, func(string) {}) // renewals wait for no other request
	namespace := cmp.Or(op.Lease.Namespace, info.DefaultNamespace, "default")
	log = log.With().Str(loggers.Field, "kopf.replicas").Logger()
	identity, says := cmp.Or(op.Lease.Identity, ReplicaName(op.identity())), func(text string) { log.Info().Msg(text) }
	r := &replica{led: signals.New(), log: log}
	if op.Lease.Shared {
		leases, err := membership.In(client, namespace, op.Lease.Name)
		if err != nil {
			return nil, fmt.Errorf("the lease of the replicas: %w", err)
		}
		member := membership.New(membership.Options{Member: MemberOf(identity), Identity: identity, Leases: leases, Terms: op.Lease.Terms, Log: says})
		r.part, r.holdLead = elected{member}, member.Coordinates
		return r.join(member.Group), nil
	}
	store, err := leadership.In(client, namespace, op.Lease.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("the lease of the replicas: %w", err)
	}
	op.pauses.Set(pauses.Reason{Standby: true}, true)
	election := &leadership.Election{Store: store, Identity: identity, Terms: op.Lease.Terms, Log: says}
	r.part, r.holdLead = elected{election}, election.Hold
	return r, nil
}

// lead takes part in the election, and lets the operator work when it is the leader, unless the context has ended. If the
// operator cannot stay the leader, fail is called with ErrLeaseLost. The replica is renewed until the returned function is called,
// also after the end of the context: its handlers still run then.
func (op *Operator) lead(ctx context.Context, fail context.CancelCauseFunc) (retire func()) {
	r := op.replica
	if r == nil {
		return func() {}
	}
	return r.Start(context.WithoutCancel(ctx), func() { op.becomeLeader(ctx) }, func(err error) {
		op.loseLead()
		fail(err)
	})
}

// becomeLeader lets the operator work as the leader.
func (op *Operator) becomeLeader(ctx context.Context) {
	if ctx.Err() != nil {
		return // the next replica works
	}
	op.replica.led.Give()
	op.pauses.Set(pauses.Reason{Standby: true}, false)
	e := op.generations.Hold()
	defer e.Release()
	if err := op.startBackground(ctx, e); err != nil {
		op.replica.log.Error().Err(err).Msg("background handlers cannot be started")
	}
}

// loseLead bounds the time in which an operator ends that is not the leader any more. Another replica leads soon, so handlers
// that do not end in time are left running.
func (op *Operator) loseLead() {
	op.exit.within(op.Lease.Terms.Margin(), fmt.Errorf("%w: %w: handlers still run", ErrLeaseLost, ErrExitTimeout), true)
}

// Led implements Leader.
func (r *replica) Led() <-chan struct{} { return r.led.Given() }

// HoldLead implements Leader.
func (r *replica) HoldLead() (until time.Time, err error) { return r.holdLead() }

// leads reports whether the replica has become the leader.
func (r *replica) leads() bool { return r == nil || r.led.IsGiven() }

// await waits until the replica is the leader. It returns only the context's error.
func (r *replica) await(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case <-r.led.Given():
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
	if r.held != nil {
		return &streams.Leader{Guard: r.part}
	}
	return &streams.Leader{Guard: r.part, Led: r.led}
}

// holdings are the objects that belong to the replica; nil if all do.
func (r *replica) holdings() *membership.Holdings {
	if r == nil {
		return nil
	}
	return r.held
}

// leave gives up the objects, when nothing is left of the work on them.
func (r *replica) leave() {
	if r != nil && r.group != nil {
		r.group.Leave(r.held)
	}
}

// giveUp lets another replica continue at once. The streams and the daemons have ended.
func (op *Operator) giveUp(ctx context.Context, retire func()) {
	r := op.replica
	if r == nil {
		return
	}
	op.replacing.end() // it may start background handlers
	op.background.Stop()
	op.leave()
	r.leave()
	retire()
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := r.Release(ctx); err != nil {
		r.log.Warn().Err(err).Msg("The lease could not be released: another replica leads when it has expired.")
	}
}

// Leader returns the identity of the leader of the replicas as it was last seen, and whether the operator is the
// leader. Shared is false if the operator has no replicas, as in a dry run.
func (op *Operator) Leader() (identity string, leads, shared bool) {
	switch {
	case op.Lease == nil || op.DryRun != nil:
		return "", false, false
	case !op.serving.Load():
		return "", false, true
	}
	identity, leads = op.replica.Standing()
	return identity, leads, true
}

// Share is what a replica has of the objects that the replicas share.
type Share struct {
	Members int // replicas that share the objects
	Objects int // that this replica handles
	membership.Moves
}

// share returns the share of the operator; nil if it does not share its objects.
func (op *Operator) share() *Share {
	if !op.shares() || !op.serving.Load() {
		return nil
	}
	held, moves := op.replica.held.Count()
	return &Share{Members: op.replica.group.Members(), Objects: held, Moves: moves}
}
