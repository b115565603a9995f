package reactor

import (
	"context"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// bind gives selectors that are functions of a guest their function: the guest is
// asked once for each handler and resource.
//
// See https://docs.kopf.dev/en/latest/resources/ (callables).
func (r *Registry) bind(ctx context.Context, log zerolog.Logger) {
	for _, h := range r.forObjects() {
		if h.Selector.IsFunction() {
			q := &selection{ctx: ctx, handler: h, log: log, answers: map[selectors.Key]bool{}}
			bound := h.Selector.Bind(q.holds)
			h.Selector = &bound
		}
	}
}

// selection remembers which resources the function of a handler has selected.
type selection struct {
	ctx     context.Context // of the operator: selectors are checked without one
	handler *Handler
	log     zerolog.Logger

	mu      sync.Mutex // guards answers
	answers map[selectors.Key]bool
}

// holds asks for a resource. A function that fails selects nothing.
func (s *selection) holds(resource selectors.Resource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, known := s.answers[resource.Key()]
	if known {
		return answer
	}
	answer, err := s.ask(resource)
	if err != nil {
		s.log.Error().Msg(fmt.Sprintf("The resource selector of %s has failed for %s: %v", s.handler.Title(), resource, err))
	}
	s.answers[resource.Key()] = answer
	return answer
}

func (s *selection) ask(resource selectors.Resource) (bool, error) {
	c := &cause{resource: &resource, base: newMemo(nil), indices: indexing.New(nil), log: logger{Logger: &s.log}}
	answer, err := c.askOption(s.ctx, s.handler, "resource")
	if err != nil {
		return false, err
	}
	return filters.Holds(abi.Verdict{Value: answer})
}
