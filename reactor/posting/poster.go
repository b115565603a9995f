package posting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// MaxPending is the maximum number of pending events: in queues, in requests, and between
// attempts. Further events are dropped and counted: events are for people, who do not read
// so many.
const MaxPending = 10_000

// MaxPendingTexts bounds the texts of pending events, in bytes: those of MaxPending usual ones are less than half of that. The texts of one
// event can have 15 KiB.
const MaxPendingTexts = 32 << 20

// ErrOverflow means that an event was dropped.
var ErrOverflow = errors.New("too many events wait to be posted")

// ErrReference means that no object can have the reference of an event.
var ErrReference = errors.New("the reference of the event is too long")

// maxReference bounds a part of a reference, in bytes. The longest one that the API server accepts is an apiVersion: the name of a
// domain, and a version.
const maxReference = 512

// Poster posts events in the background.
//
// # Guarantees
//
//   - Events of one object are posted one at a time, in their order.
//   - Retries for one object do not delay the events of another one, unless the
//     limit of workers is reached.
//   - Post never waits.
type Poster struct {
	// Send makes one request, with the given pauses between attempts.
	Send func(ctx context.Context, path apipath.Path, payload []byte, pauses backoffs.Backoffs) error

	Origin   Origin
	Warn     func(message string) // logs events that could not be posted
	Dropping func(total int)      // called for each dropped event with their total; may be nil
	Charge   *accounts.Charge     // for the memory of pending events; may be nil

	slots   chan struct{} // nil: no limit of workers
	idle    time.Duration
	closing chan struct{} // closed by Wait: idle workers end at once
	ctx     context.Context
	workers sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	queues  map[Ref]*queue
	pending int // events in queues and in requests
	texts   int // bytes of pending events
	dropped int
}

// Start makes the poster work until the context ends. If workers is 0, their number is
// unlimited. The worker of an object ends when it has had no events for the time idle.
func (p *Poster) Start(ctx context.Context, workers int, idle time.Duration) {
	p.ctx, p.queues, p.idle = ctx, map[Ref]*queue{}, idle
	p.closing = make(chan struct{})
	if workers > 0 {
		p.slots = make(chan struct{}, workers)
	}
}

// Post queues an event. It ignores events about events: an operator that handles events
// would otherwise never come to rest.
//
// Errors: ErrOverflow; ErrReference.
func (p *Poster) Post(event Event) error {
	if event.Ref.IsEvent() {
		return nil
	}
	if event.Ref.longest() > maxReference {
		return ErrReference
	}
	event = event.apart()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending >= MaxPending || p.texts+event.size() > MaxPendingTexts || p.Charge.Take(event.cost()) != nil {
		p.dropped++
		if p.Dropping != nil {
			p.Dropping(p.dropped)
		}
		return ErrOverflow
	}
	p.pending++
	p.texts += event.size()
	q, ok := p.queues[event.Ref]
	if !ok {
		q = &queue{arrived: make(chan struct{}, 1)}
		p.queues[event.Ref] = q
		p.workers.Add(1)
		go p.work(event.Ref, q) // Poster.Wait waits for it.
	}
	q.events = append(q.events, event)
	select {
	case q.arrived <- struct{}{}:
	default:
	}
	return nil
}

// apart returns a copy of the event with texts of its own, which keep no body of an object in memory. Texts are shortened: the API server accepts no longer ones.
func (e Event) apart() Event {
	e.Ref, e.Type, e.Reason, e.Message = e.Ref.Clone(), strings.Clone(shorten(e.Type)), strings.Clone(shorten(e.Reason)), strings.Clone(shorten(e.Message))
	return e
}

// size is what the texts take, in bytes.
func (e *Event) size() int {
	r := &e.Ref
	return len(r.APIVersion) + len(r.Kind) + len(r.Name) + len(r.UID) + len(r.Namespace) + len(e.Type) + len(e.Reason) + len(e.Message)
}

// workerCost is what a worker takes, with its request, in bytes. Each pending event can have one of its own.
const workerCost = 16 << 10

// cost is what a pending event takes at the most, in bytes.
func (e *Event) cost() int64 { return int64(workerCost + 2*e.size()) } // the texts are in the request once more

// settle forgets a pending event. The caller holds the lock.
func (p *Poster) settle(event Event) {
	p.Charge.Give(event.cost())
	p.pending--
	p.texts -= event.size()
}

// queue holds the events of one object.
type queue struct {
	events  []Event
	arrived chan struct{} // has a token when something has been added
}

// work posts the events of one object until it has been idle for a while.
func (p *Poster) work(ref Ref, q *queue) {
	defer p.workers.Done()
	if p.slots != nil {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
		case <-p.ctx.Done():
		}
	}
	for {
		if event, ok := p.next(q); ok {
			p.post(event)
			continue
		}
		if !p.await(q) && p.retire(ref, q) {
			return
		}
	}
}

// await waits for the next event of an idle worker, and reports whether one may have
// arrived.
func (p *Poster) await(q *queue) bool {
	timer := time.NewTimer(p.idle)
	defer timer.Stop()
	select {
	case <-q.arrived:
		return true
	case <-timer.C:
	case <-p.closing:
	case <-p.ctx.Done():
	}
	return false
}

// retire removes the queue of an idle worker.
func (p *Poster) retire(ref Ref, q *queue) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(q.events) > 0 && p.ctx.Err() == nil {
		return false
	}
	for _, event := range q.events {
		p.settle(event)
	}
	delete(p.queues, ref)
	return true
}

// next takes the next event of an object.
func (p *Poster) next(q *queue) (Event, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(q.events) == 0 || p.ctx.Err() != nil {
		return Event{}, false
	}
	event := q.events[0]
	q.events[0] = Event{} // its texts do not stay with the queue
	q.events = q.events[1:]
	return event, true
}

func (p *Poster) post(event Event) {
	err := p.send(event)
	p.mu.Lock()
	p.settle(event)
	p.mu.Unlock()
	if err != nil && p.ctx.Err() == nil {
		p.Warn(fmt.Sprintf("Failed to post an event. Ignoring and continuing. %v. Event: type='%s', reason='%s', message='%s'.",
			err, event.Type, event.Reason, event.Message))
	}
}

func (p *Poster) send(event Event) error {
	path, object, err := p.Origin.Request(event, time.Now())
	if err != nil {
		return err
	}
	payload, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return p.Send(p.ctx, path, payload, event.Backoffs)
}

// Dropped returns the number of dropped events.
func (p *Poster) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Wait waits until all events are posted, or the context of Start has ended. It must be
// called once; later events are not posted.
func (p *Poster) Wait() {
	close(p.closing)
	p.workers.Wait()
}
