package posting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// MaxPending bounds the events that wait to be posted. What comes on top of them
// is dropped and counted: events are for people, and nobody reads so many.
const MaxPending = 10_000

// ErrOverflow says that an event was dropped.
var ErrOverflow = errors.New("too many events wait to be posted")

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
	Send func(ctx context.Context, path string, payload []byte, backoffs []time.Duration) error

	Origin Origin
	Warn   func(message string) // events that could not be posted

	slots   chan struct{} // nil: no limit of workers
	ctx     context.Context
	workers sync.WaitGroup

	mu      sync.Mutex // guards all below
	queues  map[Ref][]Event
	pending int
	dropped int
}

// Start lets the poster work until the context ends. A limit of 0 is none.
func (p *Poster) Start(ctx context.Context, workers int) {
	p.ctx, p.queues = ctx, map[Ref][]Event{}
	if workers > 0 {
		p.slots = make(chan struct{}, workers)
	}
}

// Post queues an event.
//
// Errors: ErrOverflow.
func (p *Poster) Post(event Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending >= MaxPending {
		p.dropped++
		return ErrOverflow
	}
	p.pending++
	queue, busy := p.queues[event.Ref]
	p.queues[event.Ref] = append(queue, event)
	if !busy {
		p.workers.Add(1)
		go p.work(event.Ref) // Waited for by Poster.Wait.
	}
	return nil
}

// work posts the events of one object until there are none.
func (p *Poster) work(ref Ref) {
	defer p.workers.Done()
	if p.slots != nil {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
		case <-p.ctx.Done():
		}
	}
	for {
		event, ok := p.next(ref)
		if !ok {
			return
		}
		p.post(event)
	}
}

// next takes the next event of an object; if there is none, the worker has ended.
func (p *Poster) next(ref Ref) (Event, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue := p.queues[ref]
	if len(queue) == 0 || p.ctx.Err() != nil {
		p.pending -= len(queue)
		delete(p.queues, ref)
		return Event{}, false
	}
	p.pending--
	p.queues[ref] = queue[1:]
	return queue[0], true
}

func (p *Poster) post(event Event) {
	path, object, ok := p.Origin.Request(event, time.Now())
	if !ok {
		return
	}
	payload, err := json.Marshal(object)
	if err == nil {
		err = p.Send(p.ctx, path, payload, event.Backoffs)
	}
	if err != nil && p.ctx.Err() == nil {
		p.Warn(fmt.Sprintf("Failed to post an event. Ignoring and continuing. %v. Event: type='%s', reason='%s', message='%s'.",
			err, event.Type, event.Reason, event.Message))
	}
}

// Dropped is the number of events that were dropped so far.
func (p *Poster) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Wait waits until all events are posted, or the context of Start has ended.
func (p *Poster) Wait() { p.workers.Wait() }
