package meters

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/internal/legible"
)

// Bounds of the meters of an operator.
const (
	maxHandlers = 500 // handlers with a meter of their own; the others share one
	maxLabel    = 200 // bytes of a label
)

// unmetered is the label of the handlers that have no meter of their own, because there are too many.
const unmetered = "(other)"

// reasons are why handlers are called: the reason of a change, or else the kind of the handler.
var reasons = [...]string{
	"create", "update", "delete", "resume", "event", "timer", "daemon", "index", "validate", "mutate", "convert",
	"startup", "cleanup", "login", "probe", "background", "other",
}

// Outcome is what the end of a call means.
type Outcome int

// The outcomes of calls.
const (
	Succeeded  Outcome = iota
	Unfinished         // its sub-handlers are not finished: it is called again
	Temporary          // a temporary error: it is called again
	Erred              // any other error: it is called again
	Ignored            // an error that counts as a success
	Failed             // an error: it is not called again
	Cancelled          // it was cancelled, or the operator exits
	Outcomes           // how many outcomes there are
)

// names are the labels of outcomes.
var names = [Outcomes]string{"succeeded", "unfinished", "temporary", "error", "ignored", "failed", "cancelled"}

// String returns the label of the outcome.
func (o Outcome) String() string { return names[o] }

// Handlers are the meters of the handlers of an operator, of all generations. The zero value is
// empty. It is safe for concurrent use.
type Handlers struct {
	mu    sync.Mutex // guards items
	items map[string]*Handler
}

// Of returns the meter for the handlers with an id; nil if the receiver is nil. Ids come from
// guests, so a label is escaped and bounded, and handlers with the same label share a meter.
func (s *Handlers) Of(id string) *Handler {
	if s == nil {
		return nil
	}
	label := legible.Short(id, maxLabel)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = map[string]*Handler{}
	}
	if h := s.items[label]; h != nil {
		return h
	}
	if len(s.items) >= maxHandlers {
		label = unmetered
	}
	h := s.items[label]
	if h == nil {
		h = &Handler{all: s, label: label}
		s.items[label] = h
	}
	return h
}

// Read returns what the handlers have done, sorted by handler and reason, for all reasons that For
// was called with.
func (s *Handlers) Read() []Calls {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Calls
	for _, h := range s.items {
		for i := range h.series {
			if series := h.series[i].Load(); series != nil {
				all = append(all, series.read(h.label, reasons[i]))
			}
		}
	}
	slices.SortFunc(all, func(a, b Calls) int {
		return cmp.Or(cmp.Compare(a.Handler, b.Handler), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// Handler is the meter of the handlers with one id. A nil Handler counts nothing. It is safe for
// concurrent use.
type Handler struct {
	all      *Handlers
	label    string
	children atomic.Pointer[Handler]
	series   [len(reasons)]atomic.Pointer[Series]
}

// Children returns the meter of all sub-handlers at any depth. A guest makes their ids when it
// is called, so they are not bounded, and have no meters of their own.
func (h *Handler) Children() *Handler {
	if h == nil {
		return nil
	}
	if known := h.children.Load(); known != nil {
		return known
	}
	made := h.all.Of(h.label + "/*")
	made.children.Store(made)
	h.children.Store(made)
	return made
}

// For returns the meter of the calls for a reason. The first call for a reason makes it.
func (h *Handler) For(reason string) *Series {
	if h == nil {
		return nil
	}
	i := slices.Index(reasons[:], reason)
	if i < 0 {
		i = len(reasons) - 1
	}
	if known := h.series[i].Load(); known != nil {
		return known
	}
	h.series[i].CompareAndSwap(nil, &Series{})
	return h.series[i].Load()
}

// Series are the calls of a handler for one reason. A nil Series counts nothing. It is safe for
// concurrent use.
type Series struct {
	ended              [Outcomes]atomic.Uint64
	retries, exhausted atomic.Uint64
	running, living    atomic.Int64
	took               Histogram
}

// Begin counts a call that begins. Retry says that it repeats an earlier one.
func (s *Series) Begin(retry bool) {
	if s == nil {
		return
	}
	s.running.Add(1)
	if retry {
		s.retries.Add(1)
	}
}

// End counts a call that does not run any more.
func (s *Series) End(took time.Duration) {
	if s == nil {
		return
	}
	s.running.Add(-1)
	s.took.Observe(took)
}

// Conclude counts the outcome of a call that has ended.
func (s *Series) Conclude(o Outcome) {
	if s != nil {
		s.ended[o].Add(1)
	}
}

// Exhaust counts a handler that is not called any more, because its retries or its time are used up.
func (s *Series) Exhaust() {
	if s != nil {
		s.exhausted.Add(1)
	}
}

// Live adds daemons or timers that live; a negative number has ended.
func (s *Series) Live(n int64) {
	if s != nil {
		s.living.Add(n)
	}
}

func (s *Series) read(handler, reason string) Calls {
	c := Calls{
		Handler: handler, Reason: reason, Retries: s.retries.Load(), Exhausted: s.exhausted.Load(),
		Running: s.running.Load(), Living: s.living.Load(), Took: s.took.Read(),
	}
	for o := range s.ended {
		c.Ended[o] = s.ended[o].Load()
	}
	return c
}

// Calls are what a handler has done for one reason.
type Calls struct {
	Handler string           // the label of the handler
	Reason  string           // why it was called
	Ended   [Outcomes]uint64 // calls that have ended, by Outcome

	Retries   uint64       // calls that repeat an earlier one
	Exhausted uint64       // how often it was not called, because its retries or its time were used up
	Running   int64        // calls that run now, including those that wait
	Living    int64        // daemons and timers that live now, including those between two calls
	Took      Distribution // how long the calls took, including waits
}

// IsLasting reports whether the handler is a daemon or a timer.
func (c *Calls) IsLasting() bool { return c.Reason == "daemon" || c.Reason == "timer" }
