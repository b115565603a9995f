package hosting

import (
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// allowance is what a declaration has used of its rates. All runs of its operator have the same one: a restart gives nothing back.
type allowance struct {
	pace    *rate.Limiter // of the attempts
	share   *host.Share   // of the processors
	output  *host.OutputBucket
	records *rate.Limiter // bytes that the log gets

	requests, events, calls, egress clients.Bucket
}

func newAllowance() *allowance {
	output := host.NewOutputBucket(0)
	most := recordsOf(output.Limit())
	return &allowance{pace: rate.NewLimiter(rate.Every(attemptPause), attemptsAtOnce), share: host.NewShare(0, 0), output: output, records: rate.NewLimiter(rate.Limit(most), most)}
}

// limit lets an operator use the allowance.
func (a *allowance) limit(o *operator.Options) {
	o.Host.Share, o.Host.Output = a.share, a.output
	o.Limits.Requests.Bucket, o.Limits.Events.Bucket = &a.requests, &a.events
	o.Calls.Rate.Bucket, o.Calls.Egress.Bucket = &a.calls, &a.egress
}

// ownerOf returns what the operators have in common whose accounts are of a namespace. It stays: there are not many namespaces.
func (h *Host) ownerOf(d *Declaration) *operator.Tenant {
	h.mu.Lock()
	defer h.mu.Unlock()
	namespace := d.Account().Namespace
	owner := h.owners[namespace]
	if owner == nil {
		owner = &operator.Tenant{Budget: h.budget}
		h.owners[namespace] = owner
	}
	return owner
}

// forgetAfter is the time after which a removed declaration has used nothing any more: longer than the usual rates need to fill up.
const forgetAfter = 5 * time.Minute

// allowances are those of the declarations that were removed a while ago, by namespaces. New declarations of the namespace take them
// over. Otherwise an author who may have one declaration could replace it all the time, by one of any name, and would have no limits.
// The lock of the host guards them.
type allowances map[string][]*departed

// departed is the allowance of a removed declaration. Its operator may still stop.
type departed struct {
	*allowance

	key  Key
	when time.Time
}

// take returns the allowance of a declaration that is new, or declared again.
func (all allowances) take(key Key) *allowance {
	known := all[key.Namespace]
	if len(known) == 0 {
		return newAllowance()
	}
	at := slices.IndexFunc(known, func(d *departed) bool { return d.key == key })
	if at < 0 {
		at = len(known) - 1
	}
	taken := known[at].allowance
	all.keep(key.Namespace, slices.Delete(known, at, at+1))
	return taken
}

// leave keeps the allowance of a removed declaration.
func (all allowances) leave(key Key, a *allowance) {
	all[key.Namespace] = append(all[key.Namespace], &departed{a, key, time.Now()})
}

// expire forgets old ones.
func (all allowances) expire() {
	for namespace, known := range all {
		all.keep(namespace, slices.DeleteFunc(known, func(d *departed) bool { return time.Since(d.when) >= forgetAfter }))
	}
}

func (all allowances) keep(namespace string, known []*departed) {
	if all[namespace] = known; len(known) == 0 {
		delete(all, namespace)
	}
}

// maxStopping is how many operators of removed declarations of one namespace may still stop when a further one starts. They may take
// minutes, in which they do what operators do.
const maxStopping = 16

// depart notes that the declaration of the tenant is removed. The caller holds the lock of the host.
func (t *tenant) depart() {
	if !t.departed {
		t.departed = true
		t.host.left.leave(t.key, t.allowance)
		t.host.stopping[t.key.Namespace]++
	}
}

// rejoin notes that the declaration is there again. If another declaration has taken over the allowance meanwhile, both share it. The
// caller holds the lock of the host.
func (t *tenant) rejoin() {
	if t.departed {
		t.departed = false
		t.host.left.keep(t.key.Namespace, slices.DeleteFunc(t.host.left[t.key.Namespace], func(d *departed) bool { return d.allowance == t.allowance }))
		t.host.stopped(t.key.Namespace)
	}
}

// stopped notes that an operator less stops. The caller holds the lock.
func (h *Host) stopped(namespace string) {
	if h.stopping[namespace]--; h.stopping[namespace] == 0 {
		delete(h.stopping, namespace)
	}
}

// isCrowded reports whether too many operators of the namespace still stop for a further one.
func (t *tenant) isCrowded() bool {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	return t.run == nil && t.host.stopping[t.key.Namespace] >= maxStopping
}
