package membership

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// Leases are the Leases of the members.
type Leases interface {
	// Election is the Lease by which the members elect the coordinator.
	Election() leadership.Store

	// Of is the Lease of a member.
	Of(member string) leadership.Store

	// List returns the Leases of all members, by members.
	List(ctx context.Context) (map[string]leadership.Lease, error)

	// Delete deletes a state of the Lease of a member.
	Delete(ctx context.Context, member string, state leadership.Lease) error
}

// Options describe a member.
type Options struct {
	Member   string // a part of the name of its Lease, which differs for each process
	Identity string // for people; differs for each process
	Leases   Leases
	Terms    leadership.Terms
	Log      func(text string) // what happens, in sentences

	Dismissals *Dismissals // nil: none of the members uses them
}

// Member is a replica that shares the objects with others.
type Member struct {
	Options
	Group *Group // of its operators

	own, election *leadership.Election
	ownNews, news chan struct{} // make the elections write
	outlook

	mu      sync.Mutex // guards the fields below
	fail    context.CancelCauseFunc
	out     bool // it was taken for ended
	leads   bool
	adopted Assignment  // the newest one that was seen
	settled int64       // the generation that is acknowledged
	wanted  *Assignment // what the coordinator writes; nil: nothing yet
	lastSeen
}

// outlook is for survey and what it calls only.
type outlook struct {
	sights           *leadership.Sights
	listing, tidying leadership.Outage
}

// lastSeen is what is known of the Lease of the election.
type lastSeen struct {
	stored  Assignment // as it was last seen
	foreign int64      // a generation that the coordinator has not made, but that members can have seen; 0: none
	passed  time.Time  // since when the stored assignment is older than the adopted one; zero: it is not
}

// New makes a member. It starts nothing.
func New(o Options) *Member {
	if o.Dismissals == nil {
		o.Dismissals = NewDismissals(func([]string) {})
	}
	m := &Member{Options: o, outlook: outlook{sights: leadership.NewSights(o.Terms)}, ownNews: make(chan struct{}, 1), news: make(chan struct{}, 1)}
	m.Group, m.Dismissals.news = newGroup(o.Member, m.acknowledge), m.ownNews
	m.own = &leadership.Election{
		Store: o.Leases.Of(o.Member), Identity: o.Identity, Terms: o.Terms, Log: func(text string) { o.Log("The lease of this member: " + text) },
		Own: true, Note: m.acknowledgement, Wake: m.ownNews,
	}
	m.election = &leadership.Election{
		Store: o.Leases.Election(), Identity: o.Identity, Terms: o.Terms, Log: o.Log,
		Note: m.note, Noted: m.noted, Wake: m.news,
	}
	return m
}

// Hold returns until when the objects that this member holds are certainly not handled by others.
//
// Errors: leadership.ErrLost.
func (m *Member) Hold() (until time.Time, err error) {
	m.mu.Lock()
	out := m.out
	m.mu.Unlock()
	if out {
		return time.Time{}, leadership.ErrLost
	}
	return m.own.Hold()
}

// Coordinates returns until when this member is certainly the only coordinator.
//
// Errors: leadership.ErrLost.
func (m *Member) Coordinates() (until time.Time, err error) { return m.election.Hold() }

// Standing returns the identity of the coordinator as it was last seen, and whether it is this member.
func (m *Member) Standing() (coordinator string, leads bool) { return m.election.Standing() }

// Run is a member until the context ends. It calls lead, which must not block, when it becomes the coordinator.
//
// Errors: leadership.ErrLost, if it cannot be a member any more. It returns nil when the context ends.
func (m *Member) Run(ctx context.Context, lead func()) error {
	own, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	m.mu.Lock()
	m.fail = fail
	m.mu.Unlock()
	joined := make(chan struct{})
	var parts sync.WaitGroup
	for _, part := range []func() error{
		func() error { return m.own.Run(own, func() { close(joined) }) },
		func() error {
			select {
			case <-joined:
			case <-own.Done():
				return nil
			}
			return m.election.Run(own, func() { m.coordinate(); lead() })
		},
		func() error { m.survey(own); return nil },
	} {
		parts.Go(func() {
			if err := part(); err != nil {
				fail(err)
			}
		})
	}
	parts.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(own)
}

// Release gives up what this member has. All that it does as a member must have ended.
func (m *Member) Release(ctx context.Context) error {
	return errors.Join(m.own.Release(ctx), m.election.Release(ctx))
}

// acknowledge notes that nothing is left of what this member has lost in a generation.
func (m *Member) acknowledge(generation int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if newer(generation, m.settled) {
		m.settled = generation
		wake(m.ownNews)
	}
}

// acknowledgement is the note on the Lease of this member.
func (m *Member) acknowledgement(string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(append([]string{strconv.FormatInt(m.settled, 10)}, m.Dismissals.answers()...), " ")
}

func wake(news chan struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}

// noted takes what is noted on the Lease of the election. A coordinator does not take what it has not written, but replaces it.
func (m *Member) noted(note string) {
	next, err := parse(note)
	if err != nil {
		return // the coordinator writes it again
	}
	m.mu.Lock()
	if m.isForeign(next) {
		if next.Generation == m.stored.Generation || newer(next.Generation, m.stored.Generation) { // otherwise no member takes it
			m.foreign = next.Generation
		}
		m.mu.Unlock()
		return
	}
	m.stored = next
	taken, news := m.take(next)
	m.mu.Unlock()
	m.Dismissals.noted(next.Dismissed)
	if news != "" {
		m.Log(news) // without the lock: patches wait for it
	}
	if taken {
		m.Group.adopt(next)
	}
}

// isForeign reports whether another process has written an assignment while this member is the coordinator. The caller holds the lock.
func (m *Member) isForeign(next Assignment) bool {
	text := next.String()
	return m.leads && text != m.stored.String() && (m.wanted == nil || text != m.wanted.String())
}

// take compares an assignment with the adopted one, and returns whether it is newer, and what to log. The caller holds the lock.
func (m *Member) take(next Assignment) (taken bool, news string) {
	switch before := m.adopted; {
	case m.out:
		return false, ""
	case next.Generation != before.Generation && !newer(next.Generation, before.Generation):
		if next.Generation != 0 && m.isPassed(m.Terms.Duration) {
			m.out = true
			m.fail(fmt.Errorf("%w: the others share the objects by an older assignment than this member", leadership.ErrLost))
		}
		return false, ""
	case next.Generation == before.Generation:
		if m.passed = (time.Time{}); len(next.Unsettled) >= len(before.Unsettled) {
			return false, ""
		}
	case before.Has(m.Member) && (!next.Has(m.Member) || len(next.Previous) > 0 && next.Generation != following(before.Generation, 1)):
		m.out = true
		m.fail(fmt.Errorf("%w: the others took this member for ended", leadership.ErrLost))
		return false, ""
	case next.Has(m.Member):
		news = fmt.Sprintf("%d members share the objects in generation %d: %s.", len(next.Members), next.Generation, strings.Join(next.Members, ", "))
	default:
		news = fmt.Sprintf("This replica (%s) waits to become a member.", m.Member)
	}
	m.adopted, m.passed = next, time.Time{}
	return true, news
}

// isPassed reports whether the stored assignment has been older than the adopted one for so long that no coordinator can have
// made the adopted one: the member has to start again. The caller holds the lock.
func (l *lastSeen) isPassed(longest time.Duration) bool {
	now := time.Now()
	if l.passed.IsZero() {
		l.passed = now
	}
	return now.Sub(l.passed) >= longest
}

// survey looks at the Leases of all members until the context ends. The coordinator makes the assignments from them; another member
// looks less often, so that it can be the coordinator at any time.
func (m *Member) survey(ctx context.Context) {
	for {
		pause := m.Terms.Retry
		begun := time.Now()
		all, err := m.Leases.List(ctx)
		m.tell(ctx, &m.listing, err, "The leases of the members could not be listed, which is tried again", "The leases of the members can be listed again.")
		if err == nil {
			m.sights.Look(begun, all)
			if m.assign() {
				pause = m.Terms.Look
				m.tidy(ctx)
			}
		}
		if backoffs.Pause(ctx, pause) != nil {
			return
		}
	}
}

// tell says that something fails when it begins to fail, and that it succeeds again.
func (m *Member) tell(ctx context.Context, outage *leadership.Outage, err error, fails, succeeds string) {
	switch {
	case ctx.Err() != nil || !outage.Changed(err):
	case err != nil:
		m.Log(fmt.Sprintf("%s: %v", fails, err))
	default:
		m.Log(succeeds)
	}
}
