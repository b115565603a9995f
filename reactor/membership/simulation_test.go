package membership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// seeds is how many worlds the tests simulate, unless $SEEDS says more; unfenced is how many of them are simulated without the fence,
// too.
const seeds, unfenced = 60, 10

// These are the times of a world: first with faults, then without.
const (
	chaos = 6 * time.Minute
	calm  = 4 * time.Minute
)

// world is a simulation of replicas that share some objects. Requests are slow or get lost, also after the server has
// obeyed; processes stand still, end and begin; handlers are slow; clocks run at different speeds; people delete Leases.
type world struct {
	*memory // the Leases

	dice   sync.Mutex // guards rand
	rand   *rand.Rand
	fenced bool // whether patches are sent in the time of the member only and with the version, and losses are awaited

	mu         sync.Mutex // guards the fields below
	objects    []object
	violations []string
}

// object is an object that is handled again and again.
type object struct {
	version int
	handler string // the replica whose handler began last; empty: it has ended
	handled int
	by      map[string]bool // replicas that have handled it
}

func (w *world) chance(p float64) bool {
	w.dice.Lock()
	defer w.dice.Unlock()
	return w.rand.Float64() < p
}

func (w *world) between(least, most time.Duration) time.Duration {
	w.dice.Lock()
	defer w.dice.Unlock()
	return least + time.Duration(w.rand.Int64N(int64(most-least)))
}

// handled returns how often each object was handled.
func (w *world) handled() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var counts []int
	for _, o := range w.objects {
		counts = append(counts, o.handled)
	}
	return counts
}

// machine is a place for one process after another.
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

var (
	errCut  = errors.New("no connection")
	errLost = fmt.Errorf("%w: the answer is lost", errCut)
)

// send runs a request at the server at some time, even if the process does not wait for the answer any more.
func send[T any](ctx context.Context, m *machine, request func() (T, error)) (answer T, err error) {
	m.run()
	type result struct {
		answer T
		err    error
	}
	done := make(chan result, 1)
	go func() { // It ends after a few seconds.
		delay := m.between(time.Millisecond, 50*time.Millisecond)
		if m.chance(0.01) {
			delay = m.between(time.Second, 20*time.Second)
		}
		time.Sleep(delay)
		if m.chance(0.02) {
			done <- result{err: errCut}
			return
		}
		answer, err := request()
		if m.chance(0.02) {
			err = errLost
		}
		time.Sleep(delay / 2)
		done <- result{answer, err}
	}()
	defer m.run()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// line is the connection of a machine to the Leases.
type line struct{ *machine }

func (l line) Election() leadership.Store { return slow{l.machine, l.memory.Election()} }

func (l line) Of(member string) leadership.Store { return slow{l.machine, l.memory.Of(member)} }

func (l line) List(ctx context.Context) (map[string]leadership.Lease, error) {
	return send(ctx, l.machine, func() (map[string]leadership.Lease, error) { return l.memory.List(ctx) })
}

func (l line) Delete(ctx context.Context, member string, state leadership.Lease) error {
	_, err := send(ctx, l.machine, func() (bool, error) { return true, l.memory.Delete(ctx, member, state) })
	return err
}

type slow struct {
	*machine
	store leadership.Store
}

func (s slow) Read(ctx context.Context) (leadership.Lease, error) {
	return send(ctx, s.machine, func() (leadership.Lease, error) { return s.store.Read(ctx) })
}

func (s slow) Write(ctx context.Context, state leadership.Lease) (leadership.Lease, error) {
	return send(ctx, s.machine, func() (leadership.Lease, error) { return s.store.Write(ctx, state) })
}

// process is a replica on a machine.
type process struct {
	*machine
	member *Member
}

// Release implements Place. The workers look for themselves. Without the fence, the loss is acknowledged at once.
func (p *process) Release(key string) {
	if !p.fenced {
		p.member.Holdings.Released(key)
	}
}

func (p *process) read(ctx context.Context, i int) (int, error) {
	return send(ctx, p.machine, func() (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.objects[i].version, nil
	})
}

// patch marks the begin or the end of a handler on an object, if it still has the version. Without the fence, the version does not
// matter.
func (p *process) patch(ctx context.Context, i, version int, begin bool) (int, error) {
	if p.fenced {
		until, err := p.member.Hold()
		if err != nil {
			return 0, err
		}
		guarded, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		ctx = guarded
	}
	return send(ctx, p.machine, func() (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		o := &p.objects[i]
		if p.fenced && version != o.version {
			return 0, leadership.ErrConflict
		}
		o.version++
		if begin {
			o.handler = p.member.Member
			return o.version, nil
		}
		if o.handler != p.member.Member {
			p.violations = append(p.violations, fmt.Sprintf("%s ends what %s handles", p.member.Member, o.handler))
		}
		o.handler = ""
		o.handled++
		o.by[p.name] = true
		return o.version, nil
	})
}

// handle handles an object once.
func (p *process) handle(ctx context.Context, i int) {
	version, err := p.read(ctx, i)
	if err != nil {
		return
	}
	if version, err = p.patch(ctx, i, version, true); err != nil {
		return
	}
	work := p.between(time.Millisecond, 2*time.Second)
	if p.chance(0.03) {
		work = p.between(10*time.Second, 30*time.Second)
	}
	select {
	case <-time.After(work):
	case <-ctx.Done():
		return
	}
	p.run()
	_, _ = p.patch(ctx, i, version, false)
}

// attend handles an object while it belongs to the process.
func (p *process) attend(ctx context.Context, i int) {
	key, h := fmt.Sprint("object-", i), p.member.Holdings
	for ctx.Err() == nil {
		switch state, _ := h.State(key); state {
		case Losing:
			h.Released(key)
		case Free:
			if epoch, _ := h.Epoch(); h.Take(key, p, epoch, "", true) {
				continue
			}
		case Held:
			p.handle(ctx, i)
		case Foreign:
		}
		p.run()
		time.Sleep(p.between(100*time.Millisecond, time.Second))
	}
}

// live is the life of a machine: a process, a crash, a process, ... The last process lives until the end.
func (m *machine) live(ctx, safe context.Context, terms leadership.Terms) {
	for life := 0; ctx.Err() == nil; life++ {
		name := fmt.Sprint(m.name, life)
		own, crash := context.WithCancel(ctx)
		if span := m.between(20*time.Second, 3*time.Minute); safe.Err() == nil {
			time.AfterFunc(span, func() {
				if safe.Err() == nil {
					crash()
				}
			})
		}
		p := &process{m, New(Options{Member: name, Identity: name, Leases: line{m}, Terms: terms, Log: func(string) {}})}
		var working sync.WaitGroup
		for i := range m.objects {
			working.Go(func() { p.attend(own, i) })
		}
		_ = p.member.Run(own, func() {})
		crash()
		if m.chance(0.5) { // it ends as it should: its handlers first
			working.Wait()
			_ = p.member.Release(ctx)
		}
	}
}

// disturb lets processes stand still, and people damage Leases.
func (w *world) disturb(ctx context.Context, all []*machine) {
	for ctx.Err() == nil {
		time.Sleep(w.between(time.Second, 20*time.Second))
		one := all[int(w.between(0, time.Duration(len(all))))]
		if w.chance(0.6) {
			one.stand <- struct{}{}
			time.Sleep(w.between(time.Second, time.Minute))
			<-one.stand
			continue
		}
		names := slices.Sorted(slices.Values(w.names()))
		if len(names) > 0 && w.chance(0.5) {
			w.damage(names[int(w.between(0, time.Duration(len(names))))], w.chance(0.5))
		} else if w.chance(0.2) {
			for _, name := range names {
				w.damage(name, true)
			}
		}
	}
}

// simulate runs a world. It returns how often each object was handled in the end, when nothing has failed for a while.
func simulate(t *testing.T, seed uint64, fenced bool) (w *world, last []int) {
	t.Helper()
	const objects, machines = 6, 4
	w = &world{memory: newMemory(), rand: rand.New(rand.NewPCG(seed, 0)), fenced: fenced} //nolint:gosec // to be repeated
	for range objects {
		w.objects = append(w.objects, object{by: map[string]bool{}})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), chaos+calm)
		defer cancel()
		safe, cancelSafe := context.WithTimeout(ctx, chaos)
		defer cancelSafe()
		var all []*machine
		var running sync.WaitGroup
		for i := range machines {
			m := &machine{world: w, name: string(rune('a' + i)), stand: make(chan struct{}, 1)}
			all = append(all, m)
			terms, err := leadership.TermsOf(leadership.DefaultDuration)
			if err != nil {
				t.Fatal(err)
			}
			speed := 95 + w.between(0, 10) // percent: a clock that is slow waits longer
			for _, d := range []*time.Duration{&terms.Duration, &terms.Renewal, &terms.Retry, &terms.Look} {
				*d = *d * speed / 100
			}
			running.Go(func() { m.live(ctx, safe, terms) })
		}
		running.Go(func() { w.disturb(safe, all) })
		time.Sleep(chaos + calm/2)
		before := w.handled()
		running.Wait()
		for i, after := range w.handled() {
			last = append(last, after-before[i])
		}
		time.Sleep(2 * time.Minute) // requests that are under way
	})
	return w, last
}

// TestEachObjectIsHandledByOneMember looks for an order of events in which a handler ends after the handler of another replica has
// begun, or in which an object is left over. Without the fence there are some, so the test can fail.
func TestEachObjectIsHandledByOneMember(t *testing.T) {
	t.Parallel()
	count := seeds
	if text := os.Getenv("SEEDS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	handled, violations, places := 0, 0, 0
	for seed := range count {
		fenced, last := simulate(t, uint64(seed), true)
		for _, violation := range fenced.violations {
			t.Errorf("world %d: %s", seed, violation)
		}
		for i, times := range last {
			if times == 0 {
				t.Errorf("world %d: object %d is left over", seed, i)
			}
			handled += fenced.objects[i].handled
			places += len(fenced.objects[i].by)
		}
		if seed < unfenced {
			free, _ := simulate(t, uint64(seed), false)
			violations += len(free.violations)
		}
	}
	t.Logf("%d worlds: handled %d times, each object by %.1f machines; without the fence, %d violations", count, handled, float64(places)/float64(6*count), violations)
	if handled < count || violations == 0 {
		t.Error("the simulation does not show anything")
	}
}
