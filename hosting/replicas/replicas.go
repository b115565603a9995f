// Package replicas makes a host one of several that serve the same declarations. They elect a leader by one Lease: it runs the
// operators, and the others stand by; or all of them run the operators, and share the objects.
//
// See docs/replicas.md.
package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/membership"
	"github.com/kopf-wasm/kopf/reactor/peering"
	"github.com/kopf-wasm/kopf/reactor/rights"
)

// DefaultLease is the name of the Lease of hosts.
const DefaultLease = "kopf-serve"

// ErrForbidden means that the host lacks a right to Leases.
var ErrForbidden = errors.New("the host may not use the lease of its replicas")

// releaseTimeout limits the last request.
const releaseTimeout = 5 * time.Second

// Options describe a replica. Config is required.
type Options struct {
	Config    *rest.Config // of the host
	Namespace string       // of the pod; empty: default. The Lease may name another one.

	// Identity is the beginning of the name of this replica. Empty: that of the pod, or of the user and the machine.
	Identity string

	// Lease and Duration are as in operator.Replicas; the default of the name is DefaultLease.
	Lease    string
	Duration time.Duration

	// Shared divides the objects of all operators between the hosts.
	Shared bool
}

// Replica is this host among the others. It is safe for concurrent use.
type Replica struct {
	name          string
	namespace, of string // of the Lease
	terms         leadership.Terms
	client        *clients.Client
	election      part
	member        *membership.Member // nil: only the leader runs the operators
	log           zerolog.Logger
	led, lost     context.Context
	lead, lose    context.CancelFunc
	dismissals    *membership.Dismissals
	dismissed     func(uids []string) // of Run
}

// part is a leadership.Election, or a membership.Member.
type part interface {
	Hold() (until time.Time, err error)
	Run(ctx context.Context, lead func()) error
	Release(ctx context.Context) error
	Standing() (leader string, leads bool)
}

var _ operator.Leadership = (*Replica)(nil)

// New makes a replica without connecting. Each call makes another name, because the Lease of a process that has ended must not be
// taken for its own by the next one.
//
// Errors: operator.ErrReplicas, if the Lease or the duration is invalid.
func New(ctx context.Context, o Options) (*Replica, error) {
	namespace, name, err := Named(o.Lease)
	if err != nil {
		return nil, err
	}
	terms, err := operator.Replicas{Duration: o.Duration}.Terms()
	if err != nil {
		return nil, err
	}
	if o.Identity == "" {
		o.Identity = peering.Identity(ctx)
	}
	r := &Replica{
		name: reactor.ReplicaName(o.Identity), namespace: cmp.Or(namespace, o.Namespace, "default"), of: name, terms: terms,
		log: zerolog.Nop(),
	}
	r.led, r.lead = context.WithCancel(context.WithoutCancel(ctx))
	r.lost, r.lose = context.WithCancel(context.WithoutCancel(ctx))
	options := clients.Options{RequestTimeout: terms.Renewal, ConnectTimeout: terms.Renewal, FinalRefusals: true}
	vault := credentials.Lasting(credentials.Info{Config: o.Config})
	r.client = clients.New(vault, func() clients.Options { return options }, func(string) {}) // renewals wait for no other request
	if err := r.join(o.Shared); err != nil {
		return nil, fmt.Errorf("%w: the lease: %w", operator.ErrReplicas, err)
	}
	return r, nil
}

// join makes the part of this replica.
func (r *Replica) join(shared bool) error {
	says := func(text string) { r.log.Info().Msg(text) }
	if !shared {
		store, err := leadership.In(r.client, r.namespace, r.of, nil)
		r.election = &leadership.Election{Store: store, Identity: r.name, Terms: r.terms, Log: says}
		return err
	}
	leases, err := membership.In(r.client, r.namespace, r.of)
	if err != nil {
		return err
	}
	r.dismissals = membership.NewDismissals(func(uids []string) { r.dismissed(uids) })
	r.member = membership.New(membership.Options{
		Member: reactor.MemberOf(r.name), Identity: r.name, Leases: leases, Terms: r.terms, Log: says, Dismissals: r.dismissals,
	})
	r.election = r.member
	return nil
}

// NewName returns a name for this process, which no other one has.
func NewName(ctx context.Context) string { return reactor.ReplicaName(peering.Identity(ctx)) }

// Named returns the namespace and the name of a Lease that is given as NAME or NAMESPACE/NAME. The default of the name is
// DefaultLease; the namespace may be empty.
//
// Errors: operator.ErrReplicas.
func Named(lease string) (namespace, name string, err error) {
	if namespace, name, err = (operator.Replicas{Lease: lease}).Named(DefaultLease); err != nil {
		return "", "", err
	}
	for _, part := range []string{namespace, name} {
		if wrong := validation.IsDNS1123Subdomain(part); part != "" && len(wrong) > 0 {
			return "", "", fmt.Errorf("%w: the lease %q: %s", operator.ErrReplicas, lease, wrong[0])
		}
	}
	return namespace, name, nil
}

// Log returns a logger whose lines have the name of this replica. The replica uses it, too.
func (r *Replica) Log(of zerolog.Logger) zerolog.Logger {
	named := of.With().Str(loggers.Replica, r.name).Logger()
	r.log = named.With().Str(loggers.Field, "kopf.replicas").Logger()
	return named
}

// Name returns the identity of this replica in the Lease.
func (r *Replica) Name() string { return r.name }

// Duration returns how long other hosts wait for a leader that is silent.
func (r *Replica) Duration() time.Duration { return r.terms.Duration }

// Check checks that the host may use the Lease, and those of the members.
//
// Errors: ErrForbidden, which names what is missing; those of the API server.
func (r *Replica) Check(ctx context.Context) error {
	var missing []string
	verbs, of, mode := []string{"get", "create", "update"}, r.of, "leader"
	if r.member != nil {
		verbs, of, mode = append(verbs, "list", "delete"), "", "shared"
	}
	for _, verb := range verbs {
		allowed, err := r.may(ctx, verb, of)
		if err != nil {
			return fmt.Errorf("the rights to the lease of the replicas cannot be checked: %w", err)
		}
		if !allowed {
			missing = append(missing, verb)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: it may not %s leases.coordination.k8s.io %s in the namespace %s: run: kopf serve --install --replicas %s --lease %[4]s/%[6]s | kubectl apply -f -", ErrForbidden, strings.Join(missing, ", "), cmp.Or(of, "of any name"), r.namespace, mode, r.of)
	}
	return nil
}

// may asks for one right to a Lease, or to all of the namespace. A right to create cannot be for one name.
func (r *Replica) may(ctx context.Context, verb, name string) (bool, error) {
	resource := &rights.Resource{Verb: verb, Group: "coordination.k8s.io", Plural: "leases", Namespace: r.namespace, Name: name}
	if verb == "create" {
		resource.Name = ""
	}
	return rights.Question{Resource: resource}.Ask(ctx, r.client.Ask)
}

// Run takes part until the context ends. It calls dismissed, which must not block, with the UIDs of the declarations whose operators
// must not run any more in any of the hosts that share the objects.
//
// Errors: operator.ErrLeaseLost, after the end of the context of Lost.
func (r *Replica) Run(ctx context.Context, dismissed func(uids []string)) error {
	r.dismissed = dismissed
	err := r.election.Run(ctx, r.lead)
	if err != nil {
		r.lose()
	}
	return err
}

// Release lets another host lead at once, and others have the objects. Nothing may be left of the work of any operator on objects.
func (r *Replica) Release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := r.election.Release(ctx); err != nil {
		r.log.Warn().Err(err).Msg("The lease could not be released: another host leads when it has expired.")
	}
}

// Hold implements operator.Leadership.
func (r *Replica) Hold() (until time.Time, err error) { return r.election.Hold() }

// HoldLead returns until when this host is certainly the only leader.
//
// Errors: operator.ErrLeaseLost.
func (r *Replica) HoldLead() (until time.Time, err error) {
	if r.member != nil {
		return r.member.Coordinates()
	}
	return r.election.Hold()
}

// Group implements operator.Leadership.
func (r *Replica) Group() *membership.Group {
	if r.member == nil {
		return nil
	}
	return r.member.Group
}

// Dismiss asks all hosts that share the objects to end the operator of a declaration for ever, and returns whether all have. Only the
// leader can; it asks until Forget.
func (r *Replica) Dismiss(uid string) (done bool) { return r.dismissals.Dismiss(uid) }

// Forget ends a dismissal, when the declaration is gone.
func (r *Replica) Forget(uid string) { r.dismissals.Forget(uid) }

// Answer says that this host does not run the operator of a dismissed declaration, and never will.
func (r *Replica) Answer(uid string) { r.dismissals.Answer(uid) }

// Led implements operator.Leadership.
func (r *Replica) Led() context.Context { return r.led }

// Lost implements operator.Leadership.
func (r *Replica) Lost() context.Context { return r.lost }

// Standing implements operator.Leadership.
func (r *Replica) Standing() (leader string, leads bool) { return r.election.Standing() }
