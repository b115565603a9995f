package leadership_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// seeds is how many worlds the tests simulate, unless $SEEDS says more.
const seeds = 100

// world is a simulation of replicas that handle one object. Requests are slow or get lost, also after
// the server has obeyed; processes stand still; clocks run at different speeds; people delete the Lease.
type world struct {
	*memory // the Lease
	rand    *rand.Rand
	fenced  bool // whether patches are sent in the time of the leader only, and with the version

	object     sync.Mutex // guards the fields below
	version    int        // of the object
	handler    string     // the replica whose handler began last; empty: it has ended
	handled    int
	violations []string
}

// chance is true with a probability.
func (w *world) chance(p float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rand.Float64() < p
}

func (w *world) between(least, most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return least + time.Duration(w.rand.Int64N(int64(most-least)))
}

// machine is a process in the world.
type machine struct {
	*world
	name  string
	stand chan struct{} // full while the process stands still
}

// run waits while the process stands still.
func (m *machine) run() {
	m.stand <- struct{}{}
	<-m.stand
}

var errLost = fmt.Errorf("%w: the answer is lost", errCut)

// send runs a request at the server at some time, even if the process does not wait for the answer any more.
func send[T any](ctx context.Context, m *machine, request func() (T, error)) (answer T, err error) {
	m.run()
	done := make(chan struct{})
	go func() { // It ends after a few seconds.
		defer close(done)
		delay := m.between(time.Millisecond, 50*time.Millisecond)
		if m.chance(0.02) {
			delay = m.between(time.Second, 20*time.Second)
		}
		time.Sleep(delay)
		if m.chance(0.03) {
			err = errCut
			return
		}
		answer, err = request()
		if m.chance(0.03) {
			err = errLost
		}
		time.Sleep(delay / 2)
	}()
	defer m.run()
	select {
	case <-done:
		return answer, err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (m *machine) Read(ctx context.Context) (leadership.Lease, error) {
	return send(ctx, m, func() (leadership.Lease, error) { return m.memory.Read(ctx) })
}

func (m *machine) Write(ctx context.Context, lease leadership.Lease) (leadership.Lease, error) {
	return send(ctx, m, func() (leadership.Lease, error) { return m.memory.Write(ctx, lease) })
}

// patch marks the begin or the end of a handler on the object, if it still has the version. Without the fence, the
// version does not matter.
func (m *machine) patch(ctx context.Context, version int, begin bool) (int, error) {
	return send(ctx, m, func() (int, error) {
		m.object.Lock()
		defer m.object.Unlock()
		if m.fenced && version != m.version {
			return 0, leadership.ErrConflict
		}
		m.version++
		if begin {
			m.handler = m.name
			return m.version, nil
		}
		if m.handler != m.name {
			m.violations = append(m.violations, fmt.Sprintf("%s ends what %s handles", m.name, m.handler))
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
	version, err := send(ctx, m, func() (int, error) {
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
	case <-time.After(m.between(time.Millisecond, 3*time.Second)):
	case <-ctx.Done():
		return
	}
	m.run()
	if _, err := e.Hold(); err != nil && m.fenced {
		return
	}
	_, _ = m.patch(ctx, version, false)
}

// live is the life of a process: replica, crash, replica, ...
func (m *machine) live(ctx context.Context, terms leadership.Terms) {
	for life := 0; ctx.Err() == nil; life++ {
		own, crash := context.WithTimeout(ctx, m.between(5*time.Second, 2*time.Minute))
		e := &leadership.Election{Store: m, Identity: fmt.Sprint(m.name, life), Terms: terms, Log: func(string) {}}
		_ = e.Run(own, func() {
			go func() {
				for own.Err() == nil {
					m.handle(own, e)
					time.Sleep(10 * time.Millisecond)
				}
			}()
		})
		crash()
		if m.chance(0.5) {
			time.Sleep(4 * time.Second) // its handlers have ended
			_ = e.Release(ctx)
		}
	}
}

// disturb lets processes stand still, and people damage the Lease.
func (w *world) disturb(ctx context.Context, all []*machine) {
	for ctx.Err() == nil {
		time.Sleep(w.between(time.Second, 20*time.Second))
		one := all[int(w.between(0, time.Duration(len(all))))]
		switch {
		case w.chance(0.6):
			one.stand <- struct{}{}
			time.Sleep(w.between(time.Second, time.Minute))
			<-one.stand
		case w.chance(0.3):
			w.remove()
		case w.chance(0.5):
			w.edit(func(l *leadership.Lease) { l.Holder = "" })
		}
	}
}

// simulate runs a world for ten minutes.
func simulate(t *testing.T, seed uint64, fenced bool) *world {
	t.Helper()
	w := &world{memory: &memory{}, rand: rand.New(rand.NewPCG(seed, 0)), fenced: fenced} //nolint:gosec // to be repeated
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var all []*machine
		var running sync.WaitGroup
		for i := range 3 {
			m := &machine{world: w, name: string(rune('a' + i)), stand: make(chan struct{}, 1)}
			all = append(all, m)
			terms := terms(t)
			speed := 95 + w.between(0, 10) // percent: a clock that is slow waits longer
			for _, d := range []*time.Duration{&terms.Duration, &terms.Renewal, &terms.Retry, &terms.Look} {
				*d = *d * speed / 100
			}
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
	count := seeds
	if text := os.Getenv("SEEDS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	handled, violations := 0, 0
	for seed := range count {
		fenced := simulate(t, uint64(seed), true)
		for _, violation := range fenced.violations {
			t.Errorf("world %d: %s", seed, violation)
		}
		handled += fenced.handled
		if seed < seeds {
			violations += len(simulate(t, uint64(seed), false).violations)
		}
	}
	t.Logf("%d worlds: handled %d times; without the fence, %d violations", count, handled, violations)
	if handled < count || violations == 0 {
		t.Error("the simulation does not show anything")
	}
}
