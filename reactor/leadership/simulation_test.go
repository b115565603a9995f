package leadership_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/leadership/leadershiptest"
)

// seeds is how many worlds the tests simulate, unless $SEEDS says more.
const seeds = 100

// world is a simulation of replicas that handle one object. Requests are slow or get lost, also after
// the server has obeyed; processes stand still; clocks run at different speeds; people delete the Lease.
type world struct {
	*memory // the Lease
	*leadershiptest.Dice
	fenced bool // whether patches are sent in the time of the leader only, and with the version

	object     sync.Mutex // guards the fields below
	version    int        // of the object
	handler    string     // the replica whose handler began last; empty: it has ended
	handled    int
	violations []string
}

// machine is a process in the world.
type machine struct {
	*world
	*leadershiptest.Machine
}

// patch marks the begin or the end of a handler on the object, if it still has the version. Without the fence, the
// version does not matter.
func (m *machine) patch(ctx context.Context, version int, begin bool) (int, error) {
	return leadershiptest.Send(ctx, m.Machine, func() (int, error) {
		m.object.Lock()
		defer m.object.Unlock()
		if m.fenced && version != m.version {
			return 0, leadership.ErrConflict
		}
		m.version++
		if begin {
			m.handler = m.Name
			return m.version, nil
		}
		if m.handler != m.Name {
			m.violations = append(m.violations, fmt.Sprintf("%s ends what %s handles", m.Name, m.handler))
		}
		m.handler = ""
		m.handled++
		return m.version, nil
	})
}

// handle handles the object once, as a leader.
func (m *machine) handle(ctx context.Context, e *leadership.Election) {
	until, err := e.Hold()
	if err != nil && m.fenced {
		return
	}
	if m.fenced {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	version, err := leadershiptest.Send(ctx, m.Machine, func() (int, error) {
		m.object.Lock()
		defer m.object.Unlock()
		return m.version, nil
	})
	if err != nil {
		return
	}
	if version, err = m.patch(ctx, version, true); err != nil {
		return
	}
	select { // the work of the handler
	case <-time.After(m.Between(time.Millisecond, 3*time.Second)):
	case <-ctx.Done():
		return
	}
	m.Run()
	if _, err := e.Hold(); err != nil && m.fenced {
		return
	}
	_, _ = m.patch(ctx, version, false)
}

// live is the life of a process: replica, crash, replica, ...
func (m *machine) live(ctx context.Context, terms leadership.Terms) {
	for life := 0; ctx.Err() == nil; life++ {
		own, crash := context.WithTimeout(ctx, m.Between(5*time.Second, 2*time.Minute))
		e := &leadership.Election{Store: leadershiptest.Slow{Machine: m.Machine, Store: m.memory}, Identity: fmt.Sprint(m.Name, life), Terms: terms, Log: func(string) {}}
		_ = e.Run(own, func() {
			go func() {
				for own.Err() == nil {
					m.handle(own, e)
					time.Sleep(10 * time.Millisecond)
				}
			}()
		})
		crash()
		if m.Chance(0.5) {
			time.Sleep(4 * time.Second) // its handlers have ended
			_ = e.Release(ctx)
		}
	}
}

// disturb lets processes stand still, and people damage the Lease.
func (w *world) disturb(ctx context.Context, all []*machine) {
	for ctx.Err() == nil {
		time.Sleep(w.Between(time.Second, 20*time.Second))
		one := all[w.Below(len(all))]
		switch {
		case w.Chance(0.6):
			one.StandStill(w.Between(time.Second, time.Minute))
		case w.Chance(0.3):
			w.remove()
		case w.Chance(0.5):
			w.edit(func(l *leadership.Lease) { l.Holder = "" })
		}
	}
}

// simulate runs a world for ten minutes.
func simulate(t *testing.T, seed uint64, fenced bool) *world {
	t.Helper()
	w := &world{memory: &memory{}, Dice: leadershiptest.NewDice(seed), fenced: fenced}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var all []*machine
		var running sync.WaitGroup
		for i := range 3 {
			m := &machine{w, leadershiptest.NewMachine(string(rune('a'+i)), w.Dice, leadershiptest.Faults{Late: 0.02, Lost: 0.03})}
			all = append(all, m)
			terms := m.Terms(t)
			running.Go(func() { m.live(ctx, terms) })
		}
		running.Go(func() { w.disturb(ctx, all) })
		running.Wait()
		time.Sleep(2 * time.Minute) // requests that are under way
	})
	return w
}

// TestNoObjectIsHandledByTwo looks for an order of events in which a handler ends after the handler of another replica has
// begun. Without the fence there are some, so the test can fail.
func TestNoObjectIsHandledByTwo(t *testing.T) {
	t.Parallel()
	from, to := leadershiptest.Seeds(t, seeds)
	count := int(to - from) //nolint:gosec // there are not so many worlds
	handled, violations := 0, 0
	for seed := from; seed < to; seed++ {
		fenced := simulate(t, seed, true)
		for _, violation := range fenced.violations {
			t.Errorf("world %d: %s", seed, violation)
		}
		handled += fenced.handled
		if seed < from+seeds {
			violations += len(simulate(t, seed, false).violations)
		}
	}
	t.Logf("%d worlds: handled %d times; without the fence, %d violations", count, handled, violations)
	if handled < count || violations == 0 {
		t.Error("the simulation does not show anything")
	}
}
