package hosting

import (
	"context"
	"errors"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// shares reports whether this host shares the objects of its operators with others. Each of them runs all operators then, as the
// leader has decided.
func (h *Host) shares() bool { return h.options.Replica != nil && h.options.Replica.Group() != nil }

// version is what the leader lets all hosts run for a declaration. No guarantee about objects depends on it: it may be
// old, or missing.
type version struct {
	generation int64  // of the spec; 0: nothing runs
	artifact   string // with its digest
}

// versionOf returns what a leader has reported.
func versionOf(s *api.Status) version {
	if c := s.Find(api.Shared); c != nil && c.Status == api.True {
		return version{c.ObservedGeneration, s.Module}
	}
	return version{}
}

// follows reports whether another host decides what runs here.
func (t *tenant) follows() bool { return t.host.shares() && !t.led }

// decides reports whether this host decides what all hosts run.
func (t *tenant) decides() bool { return t.host.shares() && t.led }

// follow brings the tenant to what the leader has decided.
func (t *tenant) follow(ctx, step context.Context, d *Declaration) {
	v := versionOf(d.Reported)
	switch {
	case t.host.dismissals.has(d.UID) || d.Problem == nil && d.Spec.Suspend && !d.Leaving || v.generation == 0:
		t.stopTimer()
		t.halt()
		t.report.waiting(d, "the leader of the hosts does not let this operator run")
	case v.generation != d.Generation || d.Problem != nil:
		t.stopTimer()
		t.report.waiting(d, "the leader of the hosts has not decided about this version yet; what runs continues")
	case t.run != nil && t.run.isOf(d) && t.run.artifact == v.artifact:
		t.continues(d)
	default:
		t.attemptInTurn(ctx, step, d)
	}
}

// isSettled reports whether other hosts may run the version: it has claimed its first resources here, so that it overlaps with no other
// operator, or has none.
func (r *run) isSettled(resources int) bool {
	return resources > 0 || firstLook<<r.looks >= lookInterval
}

// waiting reports that this host waits for the leader. Another host reports it to the cluster.
func (r *reporter) waiting(d *Declaration, message string) {
	r.update(d, nil, finding{api.Ready, api.False, "NotShared", message})
}

// pinned returns the declaration with the artifact that the leader runs: a tag may have moved since.
func (t *tenant) pinned(d *Declaration) *Declaration {
	if !t.follows() {
		return d
	}
	same := *d
	same.Pin = versionOf(d.Reported).artifact
	return &same
}

// shared are the findings about what all hosts run, if this host decides it.
func (t *tenant) shared(truth api.Truth, reason, message string) []finding {
	if !t.decides() {
		return nil
	}
	return []finding{{api.Shared, truth, reason, message}}
}

// inherit takes over what the former leader lets all hosts run, until this one decides.
func (r *reporter) inherit(earlier *api.Status) {
	if c := earlier.Find(api.Shared); c != nil {
		r.status.Conditions = append(r.status.Conditions, *c)
		r.status.Module, r.status.Digest = earlier.Module, earlier.Digest
	}
}

// sharesOnly reports whether no host runs an earlier generation than the present one.
func (r *reporter) sharesOnly(generation int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := versionOf(&r.status)
	return v.generation == 0 || v.generation == generation
}

// renumber lets all hosts continue with a declaration that is being deleted: this has given it another generation.
func (r *reporter) renumber(d *Declaration) {
	r.mu.Lock()
	c := r.status.Find(api.Shared)
	runs := c != nil && c.Status == api.True
	r.mu.Unlock()
	if runs {
		r.update(d, nil, r.shared(api.True, "Releasing", "all hosts run this version until its finalizers are removed")...)
	}
}

// Pauses between two looks at the answers of the other hosts.
const (
	firstAnswer = 100 * time.Millisecond
	lastAnswer  = time.Second
)

var (
	errUnanswered = errors.New("another host has not stopped the operator")
	errDismissed  = &Refusal{Condition: api.Ready, Reason: "Releasing", Final: true, Err: errors.New("the declaration is being deleted")}
)

// dismiss lets all hosts end the operator, which this one has stopped. It is false if the step has ended, or if another host does not
// end it in time: the finalizers stay then.
func (p *departure) dismiss(step context.Context) bool {
	t := p.t
	if !t.decides() {
		return true
	}
	t.report.update(p.d, nil, t.shared(api.False, "Deleted", "the declaration is being deleted")...)
	for pauses := (backoffs.Doubling{First: firstAnswer, Most: lastAnswer}); !t.host.dismissals.dismiss(t.key, p.d.UID); {
		if time.Since(p.until) >= giveUpAfter {
			p.log.Error().Err(errUnanswered).Msg("The finalizers of the operator cannot be removed, and stay.")
			t.report.unreleased(p.d, errUnanswered, 0)
			return false
		}
		if backoffs.Pause(step, pauses.Next()) != nil {
			return false
		}
	}
	return true
}

// dismissed lets this host end what the leader has dismissed.
func (h *Host) dismissed(uids []string) {
	if !h.dismissals.add(uids) {
		return
	}
	for _, t := range h.all() {
		t.kick()
	}
}
