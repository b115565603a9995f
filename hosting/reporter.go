package hosting

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/operator"
)

// maxMessage bounds the message of a condition, in bytes: modules can cause long errors.
const maxMessage = 1000

// order is the order of the conditions in a status.
var order = []api.ConditionType{api.Ready, api.Accepted, api.Resolved, api.Verified, api.Granted, api.Shared, api.Releasing, api.Degraded, api.Overlapping, api.Throttled, api.Quarantined}

// reporter keeps the status of one declaration, and publishes its changes.
type reporter struct {
	log     zerolog.Logger
	publish func(*api.Status)
	shared  func(truth api.Truth, reason, message string) []finding // what all hosts run, if this one decides it
	leads   func() bool                                             // whether this host handles the objects

	mu       sync.Mutex // guards the fields below
	status   api.Status
	reported bool // it was published
	webhooks bool // the cluster may have webhooks of the operator
	stale    bool // it is published again, even if it does not change
}

// seed takes over what an earlier host has reported: the times of the transitions, and what
// the operator has handled.
func (r *reporter) seed(earlier *api.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if earlier != nil && !r.reported {
		r.status.Conditions = slices.DeleteFunc(slices.Clone(earlier.Conditions), func(c api.Condition) bool { return !slices.Contains(order, c.Type) })
		r.status.Resources, r.status.Finalizer = slices.Clone(earlier.Resources), earlier.Finalizer
		r.status.Webhooks, r.webhooks = earlier.Webhooks, earlier.Webhooks > 0
		r.drop(api.Shared) // a host that shares objects inherits it when it leads
	}
}

// drop removes a condition. The caller holds the lock.
func (r *reporter) drop(of api.ConditionType) {
	r.status.Conditions = slices.DeleteFunc(r.status.Conditions, func(c api.Condition) bool { return c.Type == of })
}

// repeat publishes the status at the next update, also if it does not change.
func (r *reporter) repeat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = true
}

// last returns a copy of the published status; nil before the first one.
func (r *reporter) last() *api.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reported {
		return nil
	}
	return copied(&r.status)
}

func copied(s *api.Status) *api.Status {
	c := *s
	c.Resources, c.Conditions = slices.Clone(s.Resources), slices.Clone(s.Conditions)
	return &c
}

// runsAsDeclared reports whether the status is about an operator that runs, and not about a failed attempt.
func (r *reporter) runsAsDeclared() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.status.Find(api.Ready)
	return c != nil && (c.Status == api.True || c.Reason == loading || slices.Contains(troubles, c.Reason))
}

// isTroubled reports whether the status is about an operator that runs, but does not work.
func (r *reporter) isTroubled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.status.Find(api.Ready)
	return c != nil && c.Status == api.False && slices.Contains(troubles, c.Reason)
}

// finding is a condition without its times.
type finding struct {
	of      api.ConditionType
	status  api.Truth
	reason  string
	message string
}

// Findings that are no problem.
var (
	valid         = finding{api.Accepted, api.True, "Valid", "the declaration is valid"}
	unthrottled   = finding{api.Throttled, api.False, "None", "no limit of a rate holds the operator back"}
	unquarantined = finding{api.Quarantined, api.False, "None", "the operator is started when it has to be"}
)

// update changes the status, and publishes it if it differs.
func (r *reporter) update(d *Declaration, change func(s *api.Status), findings ...finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := copied(&r.status)
	s := &r.status
	s.ObservedGeneration = d.Generation
	if !d.Leaving && s.Find(api.Releasing) != nil { // it is declared again: another departure has a time of its own
		r.drop(api.Releasing)
	}
	if change != nil {
		change(s)
	}
	for _, f := range findings {
		r.set(f, d.Generation)
	}
	slices.SortFunc(s.Conditions, func(a, b api.Condition) int { return slices.Index(order, a.Type) - slices.Index(order, b.Type) })
	if r.reported && !r.stale && reflect.DeepEqual(before, s) {
		return
	}
	r.reported, r.stale = true, false
	r.publish(copied(s))
}

// set sets a condition. The time changes only with the value.
func (r *reporter) set(f finding, generation int64) {
	c := r.status.Find(f.of)
	if c == nil {
		r.status.Conditions = append(r.status.Conditions, api.Condition{Type: f.of})
		c = r.status.Find(f.of)
	}
	if c.Status != f.status {
		c.LastTransitionTime = time.Now().UTC().Truncate(time.Second)
	}
	c.Status, c.Reason, c.Message, c.ObservedGeneration = f.status, f.reason, legible.Short(f.message, maxMessage), generation
}

// begin reports an attempt, unless an earlier version runs: then only the outcome matters.
func (r *reporter) begin(d *Declaration, runs bool) {
	if !runs && !r.failedBefore(d.Generation) {
		r.update(d, nil, finding{api.Ready, api.False, loading, "the operator is fetched and loaded"})
	}
}

// failedBefore reports whether the status is about a failed attempt of this generation.
func (r *reporter) failedBefore(generation int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.status.Find(api.Ready)
	return r.reported && c != nil && c.ObservedGeneration == generation && c.Reason != "Suspended"
}

// serving reports that the operator runs as declared.
func (r *reporter) serving(d *Declaration, run *run, restarts int) {
	facts := run.op.Facts()
	findings := []finding{
		valid,
		{api.Granted, api.True, "Granted", "the module wants no more than it is granted"},
		{api.Overlapping, api.False, "None", "no other operator of this host handles the same objects"},
		unquarantined,
		run.brakes.look(run.op.Throttles(), time.Now()),
	}
	findings = append(findings, resolved(run.artifact, run.signed)...) // an attempt for another version may have been between
	settled := run.isSettled(len(facts.Resources))
	findings = append(findings, r.watching(d, run, &facts, settled)...)
	if settled {
		findings = append(findings, r.shared(api.True, "Serving", "all hosts run this version, and share its objects")...)
	}
	r.update(d, func(s *api.Status) {
		s.Digest, s.Handlers, s.Restarts = facts.Digest, facts.Handlers, restarts
		s.Resources, s.Finalizer, s.Webhooks = facts.Resources, facts.Finalizer, facts.Webhooks
		r.webhooks = r.webhooks || facts.Webhooks > 0
	}, findings...)
}

// Reasons of Ready while an operator runs as declared.
const (
	loading     = "Loading"
	notWatching = "NotWatching"
	notPatching = "NotPatching"
	unserving   = "ResourcesUnserved" // also of Degraded, if there are others
)

// troubles are those of operators that do not work.
var troubles = []string{notWatching, notPatching, unserving}

// watching reports whether changes of objects arrive. Refusals count at once. Other problems count when
// they have lasted for as long as the pause between two usual looks.
func (r *reporter) watching(d *Declaration, run *run, facts *operator.Facts, settled bool) []finding {
	problems, refused := run.op.Problems()
	text := strings.Join(problems, "; ")
	switch {
	case text == "":
		run.served, run.troubled = run.served || settled || !facts.Watches, time.Time{}
	case run.troubled.IsZero():
		run.troubled = time.Now()
	}
	lasting := refused || text != "" && time.Since(run.troubled) >= lookInterval
	r.mu.Lock()
	before := r.status.Find(api.Degraded)
	r.mu.Unlock()
	switch {
	case lasting:
		message := "changes of objects do not arrive: " + text
		return []finding{{api.Ready, api.False, notWatching, message}, {api.Degraded, api.True, notWatching, message}}
	case text != "" && before != nil && before.Status == api.True && before.Reason == notWatching:
		return nil // it is reported
	}
	ready, degraded := finding{api.Ready, api.True, "Serving", "the operator serves"}, finding{api.Degraded, api.False, "Working", "the operator works"}
	switch {
	case !run.served:
		ready = finding{api.Ready, api.False, loading, "the operator lists its objects"}
	case d.Spec.Scope != nil && facts.Watches && len(facts.Resources) == 0 && r.leads(): // others watch little
		ready.reason, ready.message = "NoNamespaces", "no namespace matches spec.scope now; the operator serves those that will"
	}
	if why := run.op.Unpatched(); len(why) > 0 {
		message := "the results of handlers cannot be stored, so the handlers are called again; the account needs the verb patch: " + strings.Join(why, "; ")
		return []finding{{api.Ready, api.False, notPatching, message}, {api.Degraded, api.True, notPatching, message}}
	}
	if why := run.op.Unserved(); len(why) > 0 {
		degraded = finding{api.Degraded, api.True, unserving, strings.Join(why, "; ")}
		ready.reason, ready.message = degraded.reason, degraded.message
		if len(facts.Resources) == 0 {
			ready.status = api.False
		}
	}
	return []finding{ready, degraded}
}

// fetched reports the module.
func (r *reporter) fetched(f *Fetched, d *Declaration) {
	r.update(d, nil, resolved(f.Artifact, f.Signed)...)
}

func resolved(artifact string, signed bool) []finding {
	verified := finding{api.Verified, api.Unknown, "NotRequired", "no signatures are required"}
	if signed {
		verified = finding{api.Verified, api.True, "Signed", "the required signatures exist"}
	}
	return []finding{{api.Resolved, api.True, "Fetched", artifact}, verified}
}

// restarts notes how often the operator has ended by itself.
func (r *reporter) restarts(crashes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Restarts = crashes
}

// running notes which artifact runs.
func (r *reporter) running(artifact string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Module = artifact
}

// suspended reports that the operator is stopped as declared.
func (r *reporter) suspended(d *Declaration) {
	findings := r.shared(api.False, "Suspended", "no host runs the operator")
	r.update(d, nil, append(findings,
		finding{api.Ready, api.False, "Suspended", "the operator is stopped, because spec.suspend is set"},
		valid,
		finding{api.Degraded, api.False, "Suspended", "the operator is stopped, because spec.suspend is set"},
		unthrottled,
		unquarantined)...)
}

// changeRate is the reason of Throttled if a declaration changes too often.
const changeRate = "ChangeRate"

// hurried reports that an attempt has to wait, because there were too many.
func (r *reporter) hurried(d *Declaration, because string) {
	findings := []finding{{api.Throttled, api.True, changeRate, because}}
	r.mu.Lock()
	if r.status.Find(api.Ready) == nil { // it is new, and takes the place of another one
		findings = append(findings, finding{api.Ready, api.False, loading, "the operator waits until it may be fetched and loaded"})
	}
	r.mu.Unlock()
	r.update(d, nil, findings...)
}

// unhurried ends this report, if another attempt were possible at once.
func (r *reporter) unhurried(d *Declaration, possible float64) {
	r.mu.Lock()
	c := r.status.Find(api.Throttled)
	ends := possible >= 1 && c != nil && c.Reason == changeRate
	r.mu.Unlock()
	if ends {
		r.update(d, nil, unthrottled)
	}
}

// released ends the quarantine of an earlier epoch.
func (r *reporter) released(d *Declaration) {
	r.mu.Lock()
	quarantined := r.status.Is(api.Quarantined)
	r.mu.Unlock()
	if quarantined {
		r.update(d, nil, unquarantined)
	}
}

// failed reports a failed attempt; runs says that an earlier version continues.
func (r *reporter) failed(d *Declaration, f *Refusal, runs bool, failures int, delay time.Duration) {
	message := f.Error()
	next := "; the next attempt needs a change of the declaration"
	if !f.Final {
		next = fmt.Sprintf("; attempt %d follows after %v", failures+1, delay)
	}
	summary := message + next
	if runs {
		summary = "an earlier version continues, because the declared one failed: " + summary
	}
	findings := []finding{{api.Ready, api.False, f.Reason, summary}, {api.Degraded, api.True, f.Reason, summary}}
	switch {
	case f.Condition == api.Degraded || f.Condition == api.Ready:
	case f.Condition.IsProblem():
		findings = append(findings, finding{f.Condition, api.True, f.Reason, message})
	default:
		findings = append(findings, finding{f.Condition, api.False, f.Reason, message})
	}
	if f.Condition != api.Accepted {
		findings = append(findings, valid)
	}
	if !runs && (f.Condition == api.Overlapping || f.Final && r.sharesOnly(d.Generation)) {
		findings = append(findings, r.shared(api.False, f.Reason, "no host runs the operator: "+message)...)
	}
	r.log.Warn().Str("logger", "kopf.hosting").Str("reason", f.Reason).Err(f).Bool("earlier", runs).Msg("The declared operator does not run.")
	r.update(d, nil, findings...)
}
