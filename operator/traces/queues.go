package traces

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// Bounds of the spans that wait: of the one operator of a process, and of each of many.
const (
	maxQueue      = 2048
	maxQueueBytes = 8 << 20
	maxShare      = 512
	maxShareBytes = 256 << 10
)

// overhead is what a span costs without its texts, in bytes.
const overhead = 256

// Source takes the spans of one operator. It is safe for concurrent use.
type Source struct {
	about         []attribute // of the resource
	all           *queues
	spans, bytes  int // the most that wait
	sent, dropped atomic.Uint64

	waiting []*tracing.Record // the lock of all guards it, and held
	held    int               // bytes of waiting
}

var _ tracing.Tracer = (*Source)(nil)

func newSource(all *queues, spans, bytes int, about []attribute) *Source {
	return &Source{about: about, all: all, spans: spans, bytes: bytes}
}

// Record queues a span, or drops it if too many of the operator wait.
func (s *Source) Record(r *tracing.Record) {
	if !s.all.put(s, r) {
		s.dropped.Add(1)
		s.all.dropped.Add(1)
	}
}

// Counts returns how many spans a collector has accepted, and how many were dropped, because too
// many waited or no collector has accepted them.
func (s *Source) Counts() (sent, dropped uint64) { return s.sent.Load(), s.dropped.Load() }

// size is what a span costs while it waits, in bytes.
func size(r *tracing.Record) int {
	n := overhead + len(r.Name) + len(r.Message)
	for _, a := range r.Attributes {
		n += len(a.Key) + len(a.Text)
	}
	return n
}

// part is what one operator has in a batch.
type part struct {
	of    *Source
	spans []*tracing.Record
}

// count counts the spans of a part.
func (p *part) count(accepted bool) {
	n := uint64(len(p.spans))
	if accepted {
		p.of.sent.Add(n)
		return
	}
	p.of.dropped.Add(n)
	p.of.all.dropped.Add(n)
}

// queues are the spans that wait, with one queue for each source. It knows only those sources that
// have spans.
type queues struct {
	some    chan struct{} // has an element if spans wait
	full    chan struct{} // has an element if enough of them wait for a batch
	dropped atomic.Uint64 // of all sources

	mu    sync.Mutex // guards the fields below
	turns []*Source  // with spans, the next one first
	count int        // spans that wait
}

func newQueues() *queues {
	return &queues{some: make(chan struct{}, 1), full: make(chan struct{}, 1)}
}

// put adds a span, unless too many of its source wait.
func (q *queues) put(s *Source, r *tracing.Record) bool {
	n := size(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(s.waiting) >= s.spans || s.held+n > s.bytes {
		return false
	}
	if len(s.waiting) == 0 {
		q.turns = append(q.turns, s)
	}
	s.waiting, s.held = append(s.waiting, r), s.held+n
	q.count++
	q.signal()
	return true
}

// signal says what waits.
func (q *queues) signal() {
	set(q.some, q.count > 0)
	set(q.full, q.count >= maxBatch)
}

// set gives a flag an element, or takes it away.
func set(flag chan struct{}, raised bool) {
	if raised {
		select {
		case flag <- struct{}{}:
		default: // it has one
		}
		return
	}
	select {
	case <-flag:
	default:
	}
}

// take removes a batch. The sources take turns, with equal shares of the batch; what a source leaves
// of its share goes to the others.
func (q *queues) take(most int) []part {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []part
	places := map[*Source]int{}
	for most > 0 && len(q.turns) > 0 {
		share := max(most/len(q.turns), 1)
		for range min(len(q.turns), most) {
			s := q.turns[0]
			q.turns = q.turns[1:]
			spans := s.next(share)
			if len(s.waiting) > 0 {
				q.turns = append(q.turns, s)
			}
			place, known := places[s]
			if !known {
				place = len(batch)
				places[s], batch = place, append(batch, part{of: s})
			}
			batch[place].spans = append(batch[place].spans, spans...)
			most -= len(spans)
			q.count -= len(spans)
		}
	}
	q.signal()
	return batch
}

// next removes the first spans of a source.
func (s *Source) next(most int) []*tracing.Record {
	n := min(most, len(s.waiting))
	spans := slices.Clone(s.waiting[:n])
	for _, r := range spans {
		s.held -= size(r)
	}
	clear(s.waiting[:n]) // the queue does not keep what is sent
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil // so that a source without spans holds no memory
	}
	return spans
}
