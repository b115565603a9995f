package hosting

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/operator"
)

// Replica is this host among several with the same declarations. Its Leadership is that of each operator. Without a Group, the leader
// runs all of them, and the others stand by: their operators are loaded, fill their indices and answer admission reviews. With a
// Group, all hosts run what the leader lets them run, and share the objects.
type Replica interface {
	operator.Leadership

	// Run takes part until the context ends. It calls dismissed, which must not block, with the UIDs of the declarations whose
	// operators must not run any more in any host of the Group.
	//
	// Errors: operator.ErrLeaseLost, after the end of the context of Lost.
	Run(ctx context.Context, dismissed func(uids []string)) error

	// Dismiss asks all hosts of the Group to end the operator of a declaration for ever, and returns whether all have. Only the leader
	// can; it asks until Forget. Answer says that this host has.
	Dismiss(uid string) (done bool)
	Forget(uid string)
	Answer(uid string)

	// Release lets another replica lead at once. It is called after Run has ended, when no operator works on objects any more.
	Release(ctx context.Context)

	// Name returns the identity of this replica, which no other process has.
	Name() string

	// Duration returns how long the others wait for a leader that is silent.
	Duration() time.Duration
}

// join takes part among the replicas. The returned function, which must be called after Host.end, ends that. If something is left of an
// operator that does not end, the others wait until the Lease expires.
func (h *Host) join(ctx context.Context) (leave func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.options.Replica.Run(ctx, h.dismissed) }() // Waited for by leave.
	return func() error {
		cancel()
		if err := <-ended; err != nil {
			return err
		}
		if h.dismissals.isIdle() {
			h.options.Replica.Release(context.WithoutCancel(ctx))
		}
		return nil
	}
}

// leads reports whether this host is the leader, or has no others.
func (h *Host) leads() bool { return h.options.Replica == nil || h.options.Replica.Led().Err() != nil }

// hasLost reports whether another host may handle the objects of this one. It ends then.
func (h *Host) hasLost() bool {
	return h.options.Replica != nil && h.options.Replica.Lost().Err() != nil
}

// holds reports whether this host is certainly the leader now: whatever it writes itself is late otherwise.
func (h *Host) holds() bool {
	if h.options.Replica == nil {
		return true
	}
	_, err := h.options.Replica.HoldLead()
	return err == nil
}

// leading is the guard of what only the leader may do.
type leading struct{ Replica }

// Hold implements patching.Guard.
func (l leading) Hold() (until time.Time, err error) { return l.HoldLead() }

// leadership returns the options of an operator about replicas. It calls yield when nothing is left of its work on objects.
func (h *Host) leadership(yield func()) operator.Replicas {
	if h.options.Replica == nil {
		return operator.Replicas{}
	}
	return operator.Replicas{Leadership: h.options.Replica, Duration: h.options.Replica.Duration(), Yield: yield}
}

// Replicas returns what the host knows about its replicas; nil without any.
func (h *Host) Replicas() *facts.Replicas {
	replica := h.options.Replica
	if replica == nil {
		return nil
	}
	leader, leads := replica.Standing()
	r := &facts.Replicas{Name: replica.Name(), Leader: leader, Leads: leads}
	if g := replica.Group(); g != nil {
		r.Shared, r.Members = true, g.Members()
	}
	return r
}

// lead lets the tenant take over when its host has become the leader: from now on it reports, where the former leader has ended.
func (t *tenant) lead(step context.Context, d *Declaration) {
	if t.led || !t.host.leads() {
		return
	}
	t.led = true
	t.report.succeed(d.Reported, t.host.shares())
	if t.run != nil && t.run.isReady() && t.run.op.Facts().Webhooks == 0 {
		t.unregister(step)
	}
}

// publish reports a status, if this host runs the operator.
func (t *tenant) publish(s *api.Status) {
	if t.led && !t.host.hasLost() {
		t.host.options.Report(t.key, s)
	}
}

// withdraw removes the webhook configurations of an operator that has stopped. Without replicas, the operator itself has
// cleaned them.
func (t *tenant) withdraw(step context.Context) {
	if t.host.options.Replica != nil {
		t.unregister(step)
	}
}

// succeed continues what the former leader has reported: the times of the transitions, and what the operator has handled.
func (r *reporter) succeed(earlier *api.Status, shares bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = true
	if earlier == nil {
		return
	}
	for i := range earlier.Conditions {
		before := &earlier.Conditions[i]
		if c := r.status.Find(before.Type); c == nil && slices.Contains(order, before.Type) {
			r.status.Conditions = append(r.status.Conditions, *before)
		} else if c != nil && c.Status == before.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
	}
	r.drop(api.Shared)
	if shares {
		r.inherit(earlier)
	}
	if len(r.status.Resources) == 0 {
		r.status.Resources, r.status.Finalizer = earlier.Resources, earlier.Finalizer
	}
	r.webhooks = r.webhooks || earlier.Webhooks > 0
	if r.reported {
		r.stale = false
		r.publish(copied(&r.status))
	}
}
