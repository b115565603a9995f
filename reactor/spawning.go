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
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// backgroundMemory are the daemons and timers of one object.
type backgroundMemory struct {
	live atomic.Pointer[[]byte] // the newest body; nil if nobody looks at it

	mu      sync.Mutex      // guards all below
	running []*daemon       // in the order of their ids
	stopped map[string]bool // those that ended by themselves: never started again
	started map[string]bool // those whose initial delay is over
	changed time.Time       // the last essential change
	edition uint32          // that the stopped ones are of
}

// renew lets daemons that ended by themselves be started anew: their code is another.
func (m *backgroundMemory) renew(edition uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.edition, m.stopped = edition, nil
}

// follow takes a newer body. What is pointed to is a copy: the cause that a body comes
// from must not live as long.
func (m *backgroundMemory) follow(raw []byte) { m.live.Store(&raw) }

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

// isOver tells whether a handler has ended by itself.
func (m *backgroundMemory) isOver(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stopped[id]
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

// ended forgets a daemon. One that was not told to end is never started again.
func (m *backgroundMemory) ended(d *daemon) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !d.stopper.isSet() && d.edition == m.edition {
		if m.stopped == nil {
			m.stopped = map[string]bool{}
		}
		m.stopped[d.handler.ID] = true
	}
	if i, found := m.find(d.handler.ID); found {
		m.running = slices.Delete(m.running, i, i+1)
	}
	if len(m.running) == 0 {
		m.live.Store(nil)
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
			p.tasks.Go(func() { d.stop(abi.StopResourceDeleted) })
		}
		return nil, nil
	}
	if c.deleted() {
		return p.stopAll(m.all(), abi.StopResourceDeleted), nil
	}
	matched, err := c.match(ctx, p.living(c))
	if err != nil {
		return nil, err
	}
	matched = deduplicated(matched)
	for _, h := range matched {
		if !p.pauses.isOn() { // or else the listing after the pause starts it
			p.spawn(ctx, c, h)
		}
	}
	ids := idsOf(matched)
	mismatched := slices.DeleteFunc(m.all(), func(d *daemon) bool {
		return slices.Contains(ids, d.handler.ID) || d.edition != p.editionNumber() // those that were replaced are stopped anyway
	})
	return p.stopAll(mismatched, abi.StopFiltersMismatch), nil
}

// living are the handlers that have not ended by themselves for this object.
func (p *processor) living(c *cause) []*Handler {
	return slices.DeleteFunc(slices.Clone(p.handlers.spawning), func(h *Handler) bool { return c.memory.background.isOver(h.ID) })
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
func (p *processor) spawn(ctx context.Context, c *cause, h *Handler) {
	m := &c.memory.background
	own := *c
	own.raw, own.body, own.old, own.new, own.diff = nil, nil, nil, nil, nil
	own.patch, own.verdicts, own.queue, own.eventType, own.edition, own.spawned = nil, nil, nil, nil, nil, nil
	own.stopper = newStopper()
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &daemon{
		handler: h, stopper: own.stopper, done: make(chan struct{}), log: &own.log,
		instant: instantExit(p.settings.Background), edition: p.editionNumber(),
		kill: func() { cancel(); own.stopper.force() },
	}
	if !m.add(d) {
		cancel()
		return
	}
	if p.edition != nil && p.edition.replaced.Load() { // or else it is stopped by who replaces it
		cancel()
		d.stopper.set(abi.StopOperatorExiting)
		m.ended(d)
		close(d.done)
		return
	}
	p.edition.hold()
	m.follow(c.raw)
	b := &background{daemon: d, p: p, memory: c.memory, queues: c.queue.owner, key: c.queue.key, cause: &own}
	p.tasks.Add(1) // Waited for by Operator.Run, unless it is abandoned.
	b.patching = c.spawned.add(d, func() { go b.live(working, b.begin) })
}

// editionNumber tells daemons of different editions apart.
func (p *processor) editionNumber() uint32 {
	if p.edition == nil {
		return 0
	}
	return p.edition.number
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
