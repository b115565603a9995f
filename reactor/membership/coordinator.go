package membership

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// coordinate makes this member the coordinator. It continues with what is noted on the Lease of the election. No other process can
// change it any more.
func (m *Member) coordinate() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leads = true
	m.Dismissals.coordinate()
}

// note returns what the coordinator notes on the Lease of the election.
func (m *Member) note(stored string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.wanted != nil:
		return m.wanted.String()
	case m.leads: // if the Lease was deleted, it is noted again
		return m.stored.String()
	}
	a, err := parse(stored)
	if err != nil {
		a = Assignment{}
	}
	return a.String() // also the zero value: it keeps replicas of other modes from the Lease
}

// assign makes the next assignment if something has changed. It returns whether this member is the coordinator.
func (m *Member) assign() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.leads {
		return false
	}
	if m.foreign != 0 {
		m.begin(m.remaining())
		m.foreign = 0
		return true
	}
	if m.wanted != nil && m.wanted.String() != m.stored.String() {
		return true // it is not written yet
	}
	if m.stored.Generation == 0 {
		if m.sights.Looked() < m.Terms.Duration {
			return true // a former member may live whose Lease was not there
		}
		m.begin(append(m.sights.Living(), m.Member))
		return true
	}
	next := m.stored.next(census{m.candidates(), m.sights.Ended, m.acknowledged})
	next.Dismissed = m.Dismissals.judge(m.stored, m.sights)
	if next.String() != m.stored.String() {
		m.wanted = &next
		wake(m.news)
	}
	return true
}

// begin makes a first assignment, which does not depend on the stored one. The caller holds the lock.
func (m *Member) begin(members []string) {
	next := initial(m.unused(), members)
	next.Dismissed = m.Dismissals.judge(m.stored, m.sights)
	m.wanted = &next
	wake(m.news)
}

// remaining are the members that may work on objects, and those that wait. The caller holds the lock.
func (m *Member) remaining() []string {
	members := slices.DeleteFunc(slices.Clone(m.adopted.Members), m.sights.Ended)
	return append(members, m.candidates()...)
}

// candidates are the replicas that can become members: those that live, and have a Lease. A Lease that does not exist is mostly that of
// a member that has ended, which this member has missed; otherwise it is made again soon.
func (m *Member) candidates() []string {
	return slices.DeleteFunc(m.sights.Living(), func(member string) bool { return m.sights.Lease(member).Version == "" })
}

// acknowledged returns the generation that a member has acknowledged.
func (m *Member) acknowledged(member string) int64 { return acknowledgedOn(m.sights.Lease(member)) }

func acknowledgedOn(lease leadership.Lease) int64 {
	number, _, _ := strings.Cut(lease.Note, " ")
	generation, err := strconv.ParseInt(number, 10, 64)
	if err != nil || generation < 0 || generation > lastGeneration {
		return 0
	}
	return generation
}

// unused returns a generation that is newer than all that any member can have seen: one of them may be noted on no Lease
// yet. The caller holds the lock.
func (m *Member) unused() int64 {
	latest := m.adopted.Generation
	if newer(m.foreign, latest) {
		latest = m.foreign
	}
	for _, name := range m.sights.Names() {
		if one := m.acknowledged(name); newer(one, latest) {
			latest = one
		}
	}
	return following(latest, 2)
}

// tidy deletes the Leases of members that have ended.
func (m *Member) tidy(ctx context.Context) {
	m.mu.Lock()
	stored := m.stored
	m.mu.Unlock()
	if stored.Generation == 0 {
		return
	}
	var failure error
	for _, name := range m.sights.Names() {
		if stored.Has(name) || !m.sights.Ended(name) {
			continue
		}
		if state := m.sights.Lease(name); state.Version != "" {
			if err := m.Leases.Delete(ctx, name, state); err != nil {
				failure = err
				continue
			}
		}
		m.sights.Forget(name)
	}
	m.tell(ctx, &m.tidying, failure, "The lease of a former member could not be deleted, which is tried again", "The leases of former members can be deleted again.")
}
