package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/peering"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// Replicas make the operator one of several that run the same modules, with a leader or with shares. All of them have full
// indices, and serve admission handlers. Without either mode, the other fields have no effect.
//
// See docs/replicas.md.
type Replicas struct {
	// Leader elects a leader, which handles all objects. The others wait.
	Leader bool

	// Shared divides the objects: each belongs to one replica. The operator takes part in no peering.
	Shared bool

	Lease    string        // the Lease as NAME or NAMESPACE/NAME; empty: the name of the operator, in the namespace of the pod
	Duration time.Duration // how long the others wait for a leader that is silent; 0: 15 seconds; at least 2 seconds

	// Leadership decides in place of a Lease of the operator's own, for an operator of a host that has replicas. Nil: the other
	// fields decide.
	Leadership Leadership

	// Yield is called when nothing is left of the operator's work on objects, while its webhooks and its cleanup handlers may still
	// run. An operator that ends before it has observed the cluster does not call it. It is for operators with a Leadership. Nil: it
	// is not called.
	Yield func()

	name string // of this replica in the Lease
}

// Leadership is the part of one operator in what the replicas of its host agree on.
type Leadership = reactor.Leadership

// DefaultLeaseDuration is the default of Replicas.Duration.
const DefaultLeaseDuration = leadership.DefaultDuration

// ErrLeaseLost means that the operator was the leader, and cannot be certain that it still is. The process should end.
var ErrLeaseLost = reactor.ErrLeaseLost

// ErrReplicas means that Options.Replicas does not go with another option.
var ErrReplicas = errors.New("replicas")

// nameReplica gives this replica the name that it has in the Lease, and in each of its log lines.
func (o *Options) nameReplica(ctx context.Context) {
	if !o.Replicas.any() || o.Replicas.Leadership != nil || o.DryRun != nil { // a host has a name itself
		return
	}
	o.Identity = cmp.Or(o.Identity, peering.Identity(ctx))
	o.Replicas.name = reactor.ReplicaName(o.Identity)
	o.Log = o.Log.With().Str(loggers.Replica, o.Replicas.name).Logger()
}

// lease returns the Lease of the replicas of an operator; nil without replicas.
//
// Errors: ErrReplicas.
func (o *Options) lease(registered string) (*reactor.Lease, error) {
	switch {
	case !o.Replicas.any():
		return nil, nil
	case o.Replicas.Leadership != nil:
		terms, err := o.Replicas.Terms()
		return &reactor.Lease{Terms: terms, Leadership: o.Replicas.Leadership, Shared: o.Replicas.Leadership.Group() != nil, Yield: o.Replicas.Yield}, err
	case o.Replicas.Leader && o.Replicas.Shared:
		return nil, fmt.Errorf("%w: either a leader handles all objects, or the replicas share them", ErrReplicas)
	case o.Replicas.Shared && (o.Peering.Name != "" || o.Peering.Priority != nil):
		return nil, fmt.Errorf("%w: replicas that share the objects take part in no peering", ErrReplicas)
	}
	if o.Once {
		return nil, fmt.Errorf("%w: an operator that handles all objects once has no replicas", ErrReplicas)
	}
	terms, err := o.Replicas.Terms()
	if err != nil {
		return nil, err
	}
	namespace, name, err := o.Replicas.Named(strings.ToLower(strings.ReplaceAll(registered, "+", ".")))
	if err != nil {
		return nil, err
	}
	return &reactor.Lease{Namespace: namespace, Name: name, Identity: o.Replicas.name, Terms: terms, Shared: o.Replicas.Shared}, nil
}

// Named returns the namespace and the name of the Lease. The namespace is empty for that of the pod.
//
// Errors: ErrReplicas, also without a Lease and a usual name.
func (r Replicas) Named(usual string) (namespace, name string, err error) {
	namespace, name, both := strings.Cut(r.Lease, "/")
	switch {
	case !both:
		namespace, name = "", namespace
	case namespace == "":
		return "", "", fmt.Errorf("%w: the lease %q is neither NAME nor NAMESPACE/NAME", ErrReplicas, r.Lease)
	}
	if name = cmp.Or(name, usual); name == "" {
		return "", "", fmt.Errorf("%w: the operator has no name that its replicas share: name a lease", ErrReplicas)
	}
	if err := apipath.CheckName(name); err != nil {
		return "", "", fmt.Errorf("%w: the lease: %w", ErrReplicas, err)
	}
	return namespace, name, nil
}

// Terms returns the times of the Lease.
//
// Errors: ErrReplicas, if Duration is too short.
func (r Replicas) Terms() (leadership.Terms, error) {
	terms, err := leadership.TermsOf(cmp.Or(r.Duration, leadership.DefaultDuration))
	if err != nil {
		return terms, fmt.Errorf("%w: %w", ErrReplicas, err)
	}
	return terms, nil
}

func (r Replicas) any() bool { return r.Leader || r.Shared || r.Leadership != nil }

// check checks the server of webhooks of an operator. Those of hosted operators are their host's.
func (r Replicas) check(s settings.Admission) error {
	if !r.any() || r.Leadership != nil || s.Managed == "" {
		return nil
	}
	return CheckCertificate(s.Server)
}

// CheckCertificate refuses a server of webhooks whose certificate differs between the replicas: the last one that writes the
// configurations of webhooks would cut off the others.
//
// Errors: ErrReplicas.
func CheckCertificate(of json.RawMessage) error {
	var server struct {
		Secret   json.RawMessage `json:"secret"`
		CertFile json.RawMessage `json:"certfile"`
	}
	if _ = json.Unmarshal(of, &server); server.Secret == nil && server.CertFile == nil {
		return fmt.Errorf("%w: the servers of webhooks need one certificate: give the option \"secret\" or \"certfile\" to the admission server", ErrReplicas)
	}
	return nil
}
