package hosting

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/meters"
)

// Facts returns the present facts of all operators, sorted by namespace and name. Each call
// collects them from the running operators.
func (h *Host) Facts() []facts.Operator {
	all := h.all()
	slices.SortFunc(all, func(a, b *tenant) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name), cmp.Compare(a.key.Kind, b.key.Kind))
	})
	found := make([]facts.Operator, 0, len(all))
	for _, t := range all {
		found = append(found, t.facts())
	}
	return found
}

// SharedMemory returns the memory of the process that all operators have together; nil if that of the process is not known: see Options.Memory.
func (h *Host) SharedMemory() *facts.SharedMemory {
	if h.budget == nil {
		return nil
	}
	return &facts.SharedMemory{Used: h.budget.Used(), Limit: h.budget.Limit()}
}

// Object returns what an operator does for the object with a uid. An operator that does not run
// knows no object.
//
// Errors: ErrUnknown.
func (h *Host) Object(key Key, uid string) (*facts.Object, error) {
	t, err := h.find(key)
	if err != nil {
		return nil, err
	}
	o := &facts.Object{Daemons: []string{}}
	run := t.present.Load()
	if run == nil {
		return o, nil
	}
	state := run.op.Object(uid)
	o.Known, o.Waiting, o.Working, o.Sleeps = state.Known, state.Queue.Waiting, state.Queue.Working, string(state.Queue.Why)
	if !state.Queue.Until.IsZero() {
		until := state.Queue.Until.UTC()
		o.Until = &until
	}
	for _, id := range state.Daemons[:min(len(state.Daemons), facts.MaxDaemons)] {
		o.Daemons = append(o.Daemons, line(id))
	}
	return o, nil
}

func (t *tenant) facts() facts.Operator {
	f := facts.Operator{Kind: t.key.Kind, Namespace: t.key.Namespace, Name: t.key.Name, Limits: []facts.Limit{}, Errors: t.lastErrors(), Measured: facts.Measured{Requests: map[string]uint64{}}}
	t.mu.Lock()
	desired := t.desired
	t.mu.Unlock()
	f.Module.Declared = line(desired.Spec.Module)
	if desired.Problem == nil {
		f.Account = line(desired.Account().String())
	}
	if status := t.report.last(); status != nil {
		describe(&f, status)
	}
	if run := t.present.Load(); run != nil {
		f.Started = &run.began
		measure(&f, run.op.Usage())
		f.Limits = append(f.Limits, rates(run.op.Throttles())...)
	}
	if replicas := t.host.Replicas(); replicas != nil {
		f.Standby, f.Host = !replicas.Leads, line(replicas.Leader)
		if replicas.Shared {
			f.Standby, f.Host = false, line(replicas.Name)
		}
	}
	f.Module.Resources = append([]string{}, f.Module.Resources...) // lists are never null
	f.Conditions = append([]api.Condition{}, f.Conditions...)
	f.Measured.Handlers = append([]facts.Handler{}, f.Measured.Handlers...)
	return f
}

// line makes a text of an author or a guest safe to show.
func line(text string) string { return legible.Short(text, facts.MaxText) }

// lastErrors returns the newest errors of the log.
func (t *tenant) lastErrors() []facts.Error {
	last := []facts.Error{}
	for _, r := range t.journal.Errors() {
		last = append(last, facts.Error{Time: r.Time.UTC(), Message: line(r.Text())})
	}
	return last[max(0, len(last)-facts.MaxErrors):]
}

// describe takes over what was reported.
func describe(f *facts.Operator, s *api.Status) {
	f.Restarts, f.Conditions = s.Restarts, s.Conditions
	for i := range f.Conditions { // an earlier host has written some, or any account that may write the status
		c := &f.Conditions[i]
		c.Reason, c.Message = line(c.Reason), line(c.Message)
	}
	if ready := s.Find(api.Ready); ready != nil {
		f.Ready, f.Reason = ready.Status == api.True, ready.Reason
	}
	f.Module.Artifact, f.Module.Digest, f.Module.Handlers = line(s.Module), line(s.Digest), s.Handlers
	for _, resource := range s.Resources[:min(len(s.Resources), facts.MaxResources)] {
		f.Module.Resources = append(f.Module.Resources, line(resource))
	}
}

// measure takes over what a running operator has counted.
func measure(f *facts.Operator, u operator.Usage) {
	f.Work = facts.Work{
		Objects: u.Counts.Objects, Daemons: u.Counts.Daemons, Queued: u.Counts.Queued, Working: u.Counts.Working, Retries: u.Counts.Calls.Delayed,
		Calls: u.Counts.Calls.Attempts, Errors: u.Counts.Calls.Failures, EventsDropped: u.Counts.EventsDropped, Paused: u.Counts.Paused,
	}
	f.Work.OldestSeconds = u.Oldest.Seconds()
	for _, r := range u.Requests {
		f.Measured.Requests[r.Code] += r.Count
	}
	if u.Spans != nil {
		f.Measured.Spans = &facts.Spans{Sent: u.Spans.Sent, Dropped: u.Spans.Dropped}
	}
	for i := range u.Handlers {
		called(&f.Measured, &u.Handlers[i])
	}
	for _, name := range slices.Sorted(maps.Keys(u.Modules)) {
		module := u.Modules[name]
		f.Work.Lost += module.Failed
		f.Work.Instances += module.Living
		f.Work.ComputingSeconds += module.Computing.Seconds()
		f.Memory.Instances += module.Memory
	}
	if m := u.Memory; m.Used > 0 || m.Refused > 0 {
		f.Limits = append(f.Limits, facts.Limit{Name: "InstanceMemory", Used: m.Used, Limit: m.Limit, Hits: m.Refused})
	}
	if m := u.Charged; m.Used > 0 || m.Refused > 0 {
		f.Limits = append(f.Limits, facts.Limit{Name: facts.HostMemory, Used: m.Used, Limit: m.Limit, Hits: m.Refused})
	}
	for _, held := range u.Held {
		f.Memory.Host += int64(held.Used)
		if held.Used > 0 || held.Refused > 0 {
			f.Limits = append(f.Limits, facts.Limit{Name: held.Kind.Limit(), Used: int64(held.Used), Limit: int64(held.Limit), Hits: int64(held.Refused)})
		}
	}
}

// called takes over what a handler has done for one reason.
func called(f *facts.Measured, c *meters.Calls) {
	f.Took = f.Took.Add(c.Took)
	if len(f.Handlers) == facts.MaxHandlers {
		return
	}
	h := facts.Handler{Handler: c.Handler, Reason: c.Reason, Calls: map[string]uint64{}, Retries: c.Retries, Running: c.Running, Seconds: c.Took.Seconds()}
	for outcome, count := range c.Ended {
		if count > 0 {
			h.Calls[meters.Outcome(outcome).String()] = count
		}
	}
	f.Handlers = append(f.Handlers, h)
}

// rates are the limits of rates that have held an operator back. LoopRate has no count: the
// condition Throttled describes it.
func rates(throttles []operator.Throttle) []facts.Limit {
	var all []facts.Limit
	for _, t := range throttles {
		if t.Limit != loopRate {
			all = append(all, facts.Limit{Name: t.Limit, Hits: int64(t.Times)}) //nolint:gosec // a count
		}
	}
	return all
}
