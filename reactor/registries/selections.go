package registries

import (
	"context"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Asking asks the guest of a handler whether it selects a resource.
type Asking func(ctx context.Context, h *Handler, resource selectors.Resource) (abi.Raw, error)

// Bind binds selectors that are functions of a guest. The guest is asked once for each
// handler and resource. After a failure, it calls failed, which must not block.
//
// See https://docs.kopf.dev/en/latest/resources/ (callables).
func (r *Registry) Bind(ctx context.Context, log zerolog.Logger, failed func(), ask Asking) {
	for _, h := range r.ForObjects() {
		if h.Selector.IsFunction() {
			q := &selection{ctx: ctx, handler: h, asking: ask, log: log, failed: failed, answers: map[selectors.Key]bool{}, failures: map[selectors.Key]selectors.Resource{}}
			bound := h.Selector.Bind(q.holds)
			h.Selector = &bound
			r.Selections = append(r.Selections, q)
		}
	}
}

// AskAgain repeats the questions that have failed. It reports whether more resources are
// selected now, and whether any question has failed again.
func (r *Registry) AskAgain() (more, failed bool) {
	for _, s := range r.Selections {
		selected, again := s.askAgain()
		more, failed = more || selected, failed || again
	}
	return more, failed
}

// selection caches which resources the function of a handler has selected.
type selection struct {
	ctx     context.Context // the operator's context, because selectors are checked without one
	handler *Handler
	asking  Asking
	log     zerolog.Logger
	failed  func() // called after a failure

	mu       sync.Mutex // guards the fields below
	answers  map[selectors.Key]bool
	failures map[selectors.Key]selectors.Resource // resources without an answer
}

// holds reports whether the function selects a resource. A function that fails selects
// nothing until it is asked again.
func (s *selection) holds(resource selectors.Resource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, known := s.answers[resource.Key()]
	if _, failed := s.failures[resource.Key()]; known || failed {
		return answer
	}
	return s.ask(resource)
}

func (s *selection) askAgain() (selected, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range s.failures {
		selected = s.ask(resource) || selected
	}
	return selected, len(s.failures) > 0
}

// ask asks the guest, and stores the answer. The caller holds the lock.
func (s *selection) ask(resource selectors.Resource) bool {
	answer, err := s.question(resource)
	if err == nil {
		s.answers[resource.Key()] = answer
		delete(s.failures, resource.Key())
		return answer
	}
	s.failures[resource.Key()] = resource
	if s.ctx.Err() == nil {
		s.log.Error().Msg(fmt.Sprintf("The resource selector of %s has failed for %s, and will be asked again: %v", s.handler.Title(), resource, err))
	}
	s.failed()
	return false
}

func (s *selection) question(resource selectors.Resource) (bool, error) {
	answer, err := s.asking(s.ctx, s.handler, resource)
	if err != nil {
		return false, err
	}
	return filters.Holds(abi.Verdict{Value: answer})
}
