package hosting

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/webhooks"
)

// Replica is this host among several with the same declarations. Its Leadership is that of each operator: the leader runs all of them.
// The others stand by: their operators are loaded, fill their indices and answer admission reviews.
type Replica interface {
	operator.Leadership

	// Run takes part until the context ends.
	//
	// Errors: operator.ErrLeaseLost, after the channel of Lost is closed.
	Run(ctx context.Context) error

	// Release lets another replica lead at once. All operators have ended, and so has Run.
	Release(ctx context.Context)

	// Name returns the identity of this replica, which no other process has.
	Name() string

	// Duration returns how long the others wait for a leader that is silent.
	Duration() time.Duration
}

// join takes part among the replicas. The returned function, which must be called after all operators have ended, ends that.
func (h *Host) join(ctx context.Context) (leave func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.options.Replica.Run(ctx) }() // Waited for by leave.
	return func() error {
		cancel()
		if err := <-ended; err != nil {
			return err
		}
		h.options.Replica.Release(context.WithoutCancel(ctx))
		return nil
	}
}

// leads reports whether this host runs the operators.
func (h *Host) leads() bool { return h.options.Replica == nil || isClosed(h.options.Replica.Led()) }

// hasLost reports whether another host may run the operators, although this one has led. It ends then.
func (h *Host) hasLost() bool {
	return h.options.Replica != nil && isClosed(h.options.Replica.Lost())
}

// holds reports whether this host certainly runs the operators now: whatever it writes itself is late otherwise.
func (h *Host) holds() bool {
	if h.options.Replica == nil {
		return true
	}
	_, err := h.options.Replica.Hold()
	return err == nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// leadership returns the options of operators about replicas.
func (h *Host) leadership() operator.Replicas {
	if h.options.Replica == nil {
		return operator.Replicas{}
	}
	return operator.Replicas{Leadership: h.options.Replica, Duration: h.options.Replica.Duration()}
}

// Replicas returns what the host knows about its replicas; nil without any.
func (h *Host) Replicas() *facts.Replicas {
	replica := h.options.Replica
	if replica == nil {
		return nil
	}
	leader, leads := replica.Standing()
	return &facts.Replicas{Name: replica.Name(), Leader: leader, Leads: leads}
}

// fenced writes webhook configurations only while this host certainly leads: a process that has stood still must not write what
// it knew then.
type fenced struct {
	webhooks.Cluster
	leadership operator.Leadership
}

// Create implements webhooks.Cluster.
func (f fenced) Create(ctx context.Context, path apipath.Path, object []byte) error {
	if _, err := f.leadership.Hold(); err != nil {
		return err
	}
	return f.Cluster.Create(ctx, path, object)
}

// Patch implements webhooks.Cluster.
func (f fenced) Patch(ctx context.Context, path apipath.Path, mergePatch []byte) error {
	if _, err := f.leadership.Hold(); err != nil {
		return err
	}
	return f.Cluster.Patch(ctx, path, mergePatch)
}

// lead lets the tenant take over when its host has become the leader: from now on it reports, where the former leader has ended.
func (t *tenant) lead(step context.Context, d *Declaration) {
	if t.led || !t.host.leads() {
		return
	}
	t.led = true
	t.report.succeed(d.Reported)
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
func (r *reporter) succeed(earlier *api.Status) {
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
	if len(r.status.Resources) == 0 {
		r.status.Resources, r.status.Finalizer = earlier.Resources, earlier.Finalizer
	}
	r.webhooks = r.webhooks || earlier.Webhooks > 0
	if r.reported {
		r.stale = false
		r.publish(copied(&r.status))
	}
}
