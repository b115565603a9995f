package reactor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// backgroundMemory are the daemons and timers of one object.
type backgroundMemory struct {
	live atomic.Pointer[[]byte] // the newest body; nil if nobody looks at it

	mu         sync.Mutex      // guards all below, and changes of live
	held       *accounts.Lease // for live
	running    []*daemon       // in the order of their ids
	stopped    map[string]bool // those that ended by themselves: never started again; true: they keep the finalizer
	started    map[string]bool // those whose initial delay is over
	changed    time.Time       // the last essential change
	generation uint32          // that the stopped ones are of
}

// renew lets daemons that ended by themselves be started anew: their code is another.
func (m *backgroundMemory) renew(generation uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation, m.stopped = generation, nil
}

// follow takes a newer body, if anything runs that looks at it. What is pointed to is a
// copy: the cause that a body comes from must not live as long.
//
// Errors: ErrOverLimit; then the body is the one before.
func (m *backgroundMemory) follow(account *accounts.Account, raw []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.running) == 0 {
		return nil
	}
	if m.held == nil {
		m.held = accounts.NewLease(account, accounts.Bodies, m)
	}
	if err := m.held.Resize(len(raw)); err != nil {
		return err
	}
	body := raw // moved to the heap only here
	m.live.Store(&body)
	return nil
}

// firstStart tells whether a daemon is started for the first time.
func (m *backgroundMemory) firstStart(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started[id] {
		return false
	}
	if m.started == nil {
		m.started = map[string]bool{}
	}
	m.started[id] = true
	return true
}

func (m *backgroundMemory) changedAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// noteChange begins the idle time anew.
func (m *backgroundMemory) noteChange() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = time.Now()
}

// all are the running daemons and timers, in the order of their ids.
func (m *backgroundMemory) all() []*daemon {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.running)
}

// find is the place of a daemon among the running ones. The lock is held.
func (m *backgroundMemory) find(id string) (i int, found bool) {
	return slices.BinarySearchFunc(m.running, id, func(d *daemon, id string) int { return strings.Compare(d.handler.ID, id) })
}

// isOver tells whether a handler has ended by itself, and whether the object keeps its
// finalizer for it nevertheless.
func (m *backgroundMemory) isOver(id string) (over, guarded bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	guarded, over = m.stopped[id]
	return over, guarded
}

// add takes a daemon in, unless one is still running: there are never two.
func (m *backgroundMemory) add(d *daemon) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.find(d.handler.ID)
	if found {
		return false
	}
	m.running = slices.Insert(m.running, i, d)
	return true
}

// ended forgets a daemon. One that was not told to end is never started again; the object
// may keep its finalizer for it.
func (m *backgroundMemory) ended(d *daemon, guarded bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !d.stopper.isSet() && d.generation == m.generation {
		if m.stopped == nil {
			m.stopped = map[string]bool{}
		}
		m.stopped[d.handler.ID] = guarded
	}
	if i, found := m.find(d.handler.ID); found {
		m.running = slices.Delete(m.running, i, i+1)
	}
	if len(m.running) == 0 {
		m.live.Store(nil)
		m.held.Release()
	}
}

// handleBackground starts and stops the daemons and timers of the object, as its
// filters say. It returns when to look at those that are ending.
//
// Kopf: kopf._core.reactor.processing.process_spawning_cause (v1.45).
func (p *processor) handleBackground(ctx context.Context, c *cause, it item, essential bool) ([]time.Duration, error) {
	if len(p.handlers.spawning) == 0 {
		return nil, nil
	}
	m := &c.memory.background
	if essential {
		m.noteChange()
	}
	if it.Type == watching.Deleted {
		for _, d := range m.all() {
			p.runnables.whileOpen(func() { d.stop(abi.StopResourceDeleted) })
		}
		return nil, nil
	}
	if c.deleted() {
		return p.stopAll(m.all(), abi.StopResourceDeleted), nil
	}
	matched, err := c.match(ctx, p.living(c, false))
	if err != nil {
		return nil, err
	}
	matched = deduplicated(matched)
	for _, h := range matched {
		if c.crowded == nil && !p.pauses.isOn() { // or else the listing after the pause starts it
			c.crowded = p.spawn(ctx, c, h)
		}
	}
	if c.crowded != nil {
		c.log.error(fmt.Sprintf("Daemons and timers of the object cannot run, and will be started again in %v seconds: %v", crowdedDelay.Seconds(), c.crowded))
		return append(p.stopAll(m.all(), abi.StopFiltersMismatch), crowdedDelay), nil
	}
	ids := idsOf(matched)
	mismatched := slices.DeleteFunc(m.all(), func(d *daemon) bool {
		return slices.Contains(ids, d.handler.ID) || d.generation != p.generationNumber() // those that were replaced are stopped anyway
	})
	return p.stopAll(mismatched, abi.StopFiltersMismatch), nil
}

// crowdedDelay is when it is looked again whether there is room for the body of an object.
const crowdedDelay = time.Minute

// living are the handlers that have not ended by themselves for this object; if asked for,
// with those for which it keeps its finalizer.
func (p *processor) living(c *cause, guarding bool) []*Handler {
	return slices.DeleteFunc(slices.Clone(p.handlers.spawning), func(h *Handler) bool {
		over, guarded := c.memory.background.isOver(h.ID)
		return over && (!guarding || !guarded)
	})
}

// stopAll goes on with the end of daemons.
func (p *processor) stopAll(daemons []*daemon, reason int) []time.Duration {
	var delays []time.Duration
	for _, d := range daemons {
		if delay := d.stopStep(p.settings, reason); delay != nil {
			delays = append(delays, *delay)
		}
	}
	return delays
}

// spawn makes a daemon or a timer, unless it runs already. The cycle begins it.
//
// Errors: ErrOverLimit, for the body.
func (p *processor) spawn(ctx context.Context, c *cause, h *Handler) error {
	m := &c.memory.background
	own := c.beside()
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &daemon{
		handler: h, stopper: own.stopper, done: make(chan struct{}), log: &own.log,
		instant: instantExit(p.settings.Background), generation: p.generationNumber(),
		kill: func() { cancel(); own.stopper.force() },
	}
	if !m.add(d) {
		cancel()
		return nil
	}
	entered := p.runnables.add(d)
	err := m.follow(c.account, c.raw)
	if err != nil || !entered || p.generation != nil && p.generation.replaced.Load() { // or else the exit or the replacement stops it
		cancel()
		d.stopper.set(abi.StopOperatorExiting)
		m.ended(d, false)
		close(d.done)
		if entered {
			p.runnables.remove(d)
		}
		return err
	}
	p.generation.hold()
	b := &background{daemon: d, p: p, memory: c.memory, queues: c.queue.owner, key: c.queue.key, cause: own}
	b.patching = c.spawned.add(d, func() { go b.live(working, b.begin) })
	return nil
}

// generationNumber tells daemons of different generations apart.
func (p *processor) generationNumber() uint32 {
	if p.generation == nil {
		return 0
	}
	return p.generation.number
}

// askOption asks the guest for an option of a handler that is a function.
func (c *cause) askOption(ctx context.Context, h *Handler, option string) (abi.Raw, error) {
	questions := &abi.Questions{
		Invocation: c.invocation(),
		Questions:  []abi.Question{{Handler: h.index, Callbacks: []abi.Callback{{Option: option}}}},
	}
	answers, err := h.asker.Ask(ctx, questions, c.raw, &env{cause: c})
	if err != nil {
		return nil, err
	}
	if len(answers.Answers) != 1 {
		return nil, fmt.Errorf("%d answers to one question", len(answers.Answers))
	}
	if failure := answers.Answers[0].Error; failure != nil {
		return nil, fmt.Errorf("%s: %s", option, failure.Text())
	}
	return answers.Answers[0].Value, nil
}

func numberOf(value abi.Raw) (float64, error) {
	var number float64
	if err := json.Unmarshal(value, &number); err != nil {
		return 0, fmt.Errorf("%s is not a number of seconds", value)
	}
	return number, nil
}
