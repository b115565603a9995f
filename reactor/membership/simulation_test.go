package membership

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/leadership/leadershiptest"
)

// seeds is how many worlds the tests simulate, unless $SEEDS says more; unfenced is how many of them are simulated without the fence,
// too.
const seeds, unfenced = 60, 10

// operators is how many operators each replica has.
const operators = 2

// These are the times of a world: first with faults, then without.
const (
	chaos = 6 * time.Minute
	calm  = 4 * time.Minute
)

// world is a simulation of replicas that share some objects. Requests are slow or get lost, also after the server has
// obeyed; processes stand still, end and begin; handlers are slow; clocks run at different speeds; people delete Leases.
type world struct {
	*memory // the Leases

	*leadershiptest.Dice
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
	*leadershiptest.Machine
}

// line is the connection of a machine to the Leases.
type line struct{ *machine }

func (l line) Election() leadership.Store {
	return leadershiptest.Slow{Machine: l.Machine, Store: l.memory.Election()}
}

func (l line) Of(member string) leadership.Store {
	return leadershiptest.Slow{Machine: l.Machine, Store: l.memory.Of(member)}
}

func (l line) List(ctx context.Context) (map[string]leadership.Lease, error) {
	return leadershiptest.Send(ctx, l.Machine, func() (map[string]leadership.Lease, error) { return l.memory.List(ctx) })
}

func (l line) Delete(ctx context.Context, member string, state leadership.Lease) error {
	_, err := leadershiptest.Send(ctx, l.Machine, func() (bool, error) { return true, l.memory.Delete(ctx, member, state) })
	return err
}

// process is a replica on a machine.
type process struct {
	*machine
	member *Member
}

// operator is one of the operators of a replica. Each has some of the objects.
type operator struct {
	*process
	holdings *Holdings
}

// Release implements Place. The workers look for themselves. Without the fence, the loss is acknowledged at once.
func (o *operator) Release(key string) {
	if !o.fenced {
		o.holdings.Released(key)
	}
}

func (p *process) read(ctx context.Context, i int) (int, error) {
	return leadershiptest.Send(ctx, p.Machine, func() (int, error) {
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
	return leadershiptest.Send(ctx, p.Machine, func() (int, error) {
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
		o.by[p.Name] = true
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
	work := p.Between(time.Millisecond, 2*time.Second)
	if p.Chance(0.03) {
		work = p.Between(10*time.Second, 30*time.Second)
	}
	select {
	case <-time.After(work):
	case <-ctx.Done():
		return
	}
	p.Run()
	_, _ = p.patch(ctx, i, version, false)
}

// attend handles an object while it belongs to the operator.
func (o *operator) attend(ctx context.Context, i int) {
	key, h := fmt.Sprint("object-", i), o.holdings
	for ctx.Err() == nil {
		switch state, _ := h.State(key); state {
		case Losing:
			h.Released(key)
		case Free:
			if epoch, _ := h.Epoch(); h.Take(key, o, epoch, "", true) {
				continue
			}
		case Held:
			o.handle(ctx, i)
		case Foreign:
		}
		o.Run()
		time.Sleep(o.Between(100*time.Millisecond, time.Second))
	}
}

// operate is the life of an operator, which is changed from time to time: the next version begins when nothing is left of the
// work of the one before.
func (p *process) operate(ctx context.Context, objects ...int) {
	for ctx.Err() == nil {
		o := &operator{p, p.member.Group.Join()}
		own, end := context.WithTimeout(ctx, p.Between(20*time.Second, 5*time.Minute))
		var working sync.WaitGroup
		for _, i := range objects {
			working.Go(func() { o.attend(own, i) })
		}
		working.Wait()
		end()
		if ctx.Err() == nil { // otherwise the process has ended: nothing is acknowledged any more
			p.member.Group.Leave(o.holdings)
		}
	}
}

// live is the life of a machine: a process, a crash, a process, ... The last process lives until the end.
func (m *machine) live(ctx, safe context.Context, terms leadership.Terms) {
	for life := 0; ctx.Err() == nil; life++ {
		name := fmt.Sprint(m.Name, life)
		own, crash := context.WithCancel(ctx)
		if span := m.Between(20*time.Second, 3*time.Minute); safe.Err() == nil {
			time.AfterFunc(span, func() {
				if safe.Err() == nil {
					crash()
				}
			})
		}
		p := &process{m, New(Options{Member: name, Identity: name, Leases: line{m}, Terms: terms, Log: func(string) {}})}
		var working sync.WaitGroup
		for first := range operators {
			var objects []int
			for i := first; i < len(m.objects); i += operators {
				objects = append(objects, i)
			}
			working.Go(func() { p.operate(own, objects...) })
		}
		_ = p.member.Run(own, func() {})
		crash()
		if m.Chance(0.5) { // it ends as it should: its handlers first
			working.Wait()
			_ = p.member.Release(ctx)
		}
	}
}

// disturb lets processes stand still, and people damage Leases.
func (w *world) disturb(ctx context.Context, all []*machine) {
	for ctx.Err() == nil {
		time.Sleep(w.Between(time.Second, 20*time.Second))
		one := all[w.Below(len(all))]
		if w.Chance(0.6) {
			one.StandStill(w.Between(time.Second, time.Minute))
			continue
		}
		names := slices.Sorted(slices.Values(w.names()))
		if len(names) > 0 && w.Chance(0.5) {
			w.damage(names[w.Below(len(names))], w.Chance(0.5))
		} else if w.Chance(0.2) {
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
	w = &world{memory: newMemory(), Dice: leadershiptest.NewDice(seed), fenced: fenced}
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
			m := &machine{w, leadershiptest.NewMachine(string(rune('a'+i)), w.Dice, leadershiptest.Faults{Late: 0.01, Lost: 0.02})}
			all = append(all, m)
			terms := m.Terms(t)
			running.Go(func() { m.live(ctx, safe, terms) })
		}
		running.Go(func() { w.disturb(safe, all) })
		time.Sleep(chaos)
		for _, m := range all {
			m.Heal() // otherwise members lose their Leases, and an object may wait for all of them in turn
		}
		time.Sleep(calm / 2)
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
	from, to := leadershiptest.Seeds(t, seeds)
	count := int(to - from) //nolint:gosec // there are not so many worlds
	handled, violations, places := 0, 0, 0
	for seed := from; seed < to; seed++ {
		fenced, last := simulate(t, seed, true)
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
		if seed < from+unfenced {
			free, _ := simulate(t, seed, false)
			violations += len(free.violations)
		}
	}
	t.Logf("%d worlds: handled %d times, each object by %.1f machines; without the fence, %d violations", count, handled, float64(places)/float64(6*count), violations)
	if handled < count || violations == 0 {
		t.Error("the simulation does not show anything")
	}
}
