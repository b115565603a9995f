package reactor

import (
	"context"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/filters"
)

// verdictKey identifies a question that was asked in a cycle.
type verdictKey struct {
	handler *Handler
	pre     bool
}

// match selects the handlers whose filters match the cause. What is declared is
// decided here; only then the guests are asked for the rest, each once for all its
// handlers. A filter that fails is an error of the cycle.
func (c *cause) match(ctx context.Context, handlers []*Handler) ([]*Handler, error) {
	return c.filter(ctx, handlers, false)
}

// prematch is the same without the criteria on old and new values: whether a
// handler could be interested in the object at all.
func (c *cause) prematch(ctx context.Context, handlers []*Handler) ([]*Handler, error) {
	return c.filter(ctx, handlers, true)
}

func (c *cause) filter(ctx context.Context, handlers []*Handler, pre bool) ([]*Handler, error) {
	subject := c.subject()
	matched := make([]bool, len(handlers))
	open := map[asker][]openQuestion{}
	for i, h := range handlers {
		result := h.Criteria.Match(subject)
		if pre {
			result = h.Criteria.Prematch(subject)
		}
		known, asked := c.verdicts[verdictKey{h, pre}]
		switch {
		case result.Decision == filters.Open && asked:
			matched[i] = known
		case result.Decision == filters.Open:
			open[h.asker] = append(open[h.asker], openQuestion{i, h, result.Callbacks})
		default:
			matched[i] = result.Decision == filters.Yes
		}
	}
	for guest, questions := range open {
		if err := c.ask(ctx, guest, questions, pre, matched); err != nil {
			return nil, err
		}
	}
	var selected []*Handler
	for i, h := range handlers {
		if matched[i] {
			selected = append(selected, h)
		}
	}
	return selected, nil
}

// openQuestion is a handler that only its guest can decide on.
type openQuestion struct {
	position  int
	handler   *Handler
	callbacks []abi.Callback
}

func (c *cause) ask(ctx context.Context, guest asker, open []openQuestion, pre bool, matched []bool) error {
	questions := &abi.Questions{Invocation: c.invocation()}
	for _, q := range open {
		questions.Questions = append(questions.Questions, abi.Question{
			Handler: q.handler.index, Callbacks: q.callbacks,
		})
	}
	answers, err := guest.Ask(ctx, questions, c.raw, &env{cause: c})
	if err != nil {
		return fmt.Errorf("asking for filters: %w", err)
	}
	if len(answers.Answers) != len(open) {
		return fmt.Errorf("asking for filters: %d answers to %d questions", len(answers.Answers), len(open))
	}
	if c.verdicts == nil {
		c.verdicts = map[verdictKey]bool{}
	}
	for i, answer := range answers.Answers {
		h := open[i].handler
		holds, err := filters.Holds(answer)
		if err != nil {
			return fmt.Errorf("%s: %w", quote(h.ID), err)
		}
		matched[open[i].position] = holds
		c.verdicts[verdictKey{h, pre}] = holds
	}
	return nil
}
