package handling

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// verdictKey identifies a question that the guest has answered in a cycle.
type verdictKey struct {
	handler *registries.Handler
	pre     bool
}

// Match returns the handlers whose filters match the cause, each function once under one id. It evaluates
// declared filters first. Then it asks each guest once about the callbacks of all its handlers. A filter
// that fails is an error of the cycle.
func (c *Cause) Match(ctx context.Context, handlers []*registries.Handler) ([]*registries.Handler, error) {
	found, err := c.filter(ctx, handlers, false, false)
	if err != nil {
		return nil, err
	}
	var selected []*registries.Handler
	for i, h := range handlers {
		if found[i].err != nil {
			return nil, found[i].err
		}
		if found[i].holds {
			selected = append(selected, h)
		}
	}
	return registries.Deduplicated(selected), nil
}

// MatchesAny reports whether any of the handlers matches. It ignores handlers after the
// first match, even if their filters would fail.
func (c *Cause) MatchesAny(ctx context.Context, handlers []*registries.Handler) (bool, error) {
	return c.holdsForAny(ctx, handlers, false)
}

// PrematchesAny is MatchesAny without the criteria on old and new values: whether any
// handler could be interested in the object.
func (c *Cause) PrematchesAny(ctx context.Context, handlers []*registries.Handler) (bool, error) {
	return c.holdsForAny(ctx, handlers, true)
}

func (c *Cause) holdsForAny(ctx context.Context, handlers []*registries.Handler, pre bool) (bool, error) {
	found, err := c.filter(ctx, handlers, pre, true)
	if err != nil {
		return false, err
	}
	for _, v := range found {
		if v.holds || v.err != nil {
			return v.holds, v.err
		}
	}
	return false, nil
}

// Explain reports whether a handler matches, as Match does, with the filters that do not hold
// or that a function of the guest has decided. It asks the guest only if all declared filters
// hold.
//
// Errors: those of Match; the findings are valid then.
func (c *Cause) Explain(ctx context.Context, h *registries.Handler) (matches bool, findings []filters.Finding, err error) {
	decision, findings := h.Criteria.Explain(c.subject())
	if decision != filters.Open {
		return decision == filters.Yes, findings, nil
	}
	matching, err := c.Match(ctx, []*registries.Handler{h})
	return len(matching) > 0, findings, err
}

// verdict says whether the filters of a handler hold, or how they have failed.
type verdict struct {
	holds bool
	err   error
}

// filter returns a verdict on each handler. If any match suffices, it stops at the first
// certain match.
func (c *Cause) filter(ctx context.Context, handlers []*registries.Handler, pre, anyWillDo bool) ([]verdict, error) {
	var found []verdict
	var open map[guests.Asker][]openQuestion
	if size := max(len(c.Raw), costOf(handlers)); size < leastWork {
		found, open = decide(c, handlers, pre, anyWillDo) // without the allocations of the other way: most objects are small
	} else {
		found, open = decideInTurn(ctx, c, size, handlers, pre, anyWillDo)
	}
	for guest, questions := range open {
		if err := c.ask(ctx, guest, questions, pre, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// costOf estimates how long it takes to evaluate the filters of handlers, as the size of a text: see Services.Work. An operator may have
// ten thousand handlers, or as many filters. It looks at no more of them than it needs.
func costOf(handlers []*registries.Handler) (cost int) {
	for _, h := range handlers {
		if cost += h.Criteria.Cost(); cost >= leastWork {
			break
		}
	}
	return cost
}

// decideInTurn is decide in the computing time of the operator.
func decideInTurn(ctx context.Context, c *Cause, size int, handlers []*registries.Handler, pre, anyWillDo bool) (found []verdict, open map[guests.Asker][]openQuestion) {
	c.Work(ctx, size, func() { found, open = decide(c, handlers, pre, anyWillDo) })
	return found, open
}

// decide evaluates what needs no guest, and returns the questions to the guests.
func decide(c *Cause, handlers []*registries.Handler, pre, anyWillDo bool) (found []verdict, open map[guests.Asker][]openQuestion) {
	subject := c.subject()
	if len(handlers) > 1 && subject.Changing {
		subject.Unchanged = map[string]bool{}
	}
	found = make([]verdict, len(handlers))
	for i, h := range handlers {
		result := h.Criteria.Match(subject)
		if pre {
			result = h.Criteria.Prematch(subject)
		}
		known, asked := c.verdicts[verdictKey{h, pre}]
		switch {
		case result.Decision == filters.Open && asked:
			found[i].holds = known
		case result.Decision == filters.Open:
			if open == nil {
				open = map[guests.Asker][]openQuestion{}
			}
			open[h.Asker] = append(open[h.Asker], openQuestion{i, h, result})
		default:
			found[i].holds = result.Decision == filters.Yes
		}
		if anyWillDo && found[i].holds {
			found = found[:i+1]
			break
		}
	}
	return found, open
}

// openQuestion is a handler whose match depends on callbacks.
type openQuestion struct {
	position int
	handler  *registries.Handler
	result   filters.Result
}

// leastBatch bounds the values that the guest is asked about at once, in bytes, for small objects:
// for others, it is twice their size. Thousands of handlers may ask about the same large field.
const leastBatch = 64 << 10

// ask asks the guest, in batches of a bounded size.
func (c *Cause) ask(ctx context.Context, guest guests.Asker, open []openQuestion, pre bool, found []verdict) error {
	most := max(2*len(c.Raw), leastBatch)
	texts := &filters.Texts{Most: most}
	var batch []abi.Question
	size, begin := 0, 0
	for i, q := range open {
		asked := abi.Question{Handler: q.handler.Index}
		c.Work(ctx, len(c.Raw), func() { asked.Callbacks = q.result.Callbacks(texts) })
		more := sizeOfValues(asked)
		if size+more > most && len(batch) > 0 {
			if err := c.askBatch(ctx, guest, open[begin:i], batch, size, pre, found); err != nil {
				return err
			}
			batch, size, begin = nil, 0, i
		}
		batch, size = append(batch, asked), size+more
	}
	return c.askBatch(ctx, guest, open[begin:], batch, size, pre, found)
}

// sizeOfValues is the size of the values of a question, in bytes.
func sizeOfValues(q abi.Question) (size int) {
	for _, callback := range q.Callbacks {
		for _, value := range callback.Values {
			size += len(value.Value)
		}
	}
	return size
}

// askBatch asks the questions about some handlers. Their values count as pending bodies until they are answered.
func (c *Cause) askBatch(ctx context.Context, guest guests.Asker, open []openQuestion, batch []abi.Question, size int, pre bool, found []verdict) error {
	if size >= leastWork && c.Services != nil {
		held := 2 * size // the values, and the message
		if err := c.Account.Take(accounts.Pending, held); err != nil {
			return fmt.Errorf("asking for filters: %w", err)
		}
		defer c.Account.Give(accounts.Pending, held)
	}
	questions := &abi.Questions{Invocation: *c.invocation(), Questions: batch}
	answers, err := put(ctx, asked(c, open), guest, questions)
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
			found[open[i].position].err = fmt.Errorf("%s: %w", loggers.Quote(h.ID), err)
			continue
		}
		found[open[i].position].holds = holds
		c.verdicts[verdictKey{h, pre}] = holds
	}
	return nil
}

// asked returns the cause as functions of handlers see it that are asked in one call: if one of the handlers must not
// write, no function may.
func asked(c *Cause, open []openQuestion) *Cause {
	k, ok := c.Kind.(restricted)
	if !ok {
		return c
	}
	seen := &Cause{Object: c.Object, Kind: c.Kind, readOnly: c.readOnly}
	for _, q := range open {
		seen.readOnly = cmp.Or(seen.readOnly, k.ReadOnly(q.handler))
	}
	return seen
}

// put asks a guest, and gives back afterwards what the host kept for it.
func put(ctx context.Context, c *Cause, guest guests.Asker, questions *abi.Questions) (*abi.Answers, error) {
	e := &Env{Cause: c}
	defer e.forget()
	return guest.Ask(ctx, questions, c.Raw, e)
}

// AskOption evaluates an option of a handler that is a function of the guest.
func (c *Cause) AskOption(ctx context.Context, h *registries.Handler, option string) (abi.Raw, error) {
	questions := &abi.Questions{
		Invocation: *c.invocation(),
		Questions:  []abi.Question{{Handler: h.Index, Callbacks: []abi.Callback{{Option: option}}}},
	}
	answers, err := put(ctx, c, h.Asker, questions)
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

// AskForResource returns a function that asks the guest of a handler whether it selects a
// resource.
func AskForResource(log *zerolog.Logger) registries.Asking {
	return func(ctx context.Context, h *registries.Handler, resource selectors.Resource) (abi.Raw, error) {
		o := &Object{Services: &Services{Base: memos.New(nil, nil), Indices: indexing.New(nil, nil)}, Resource: &resource, Log: loggers.Logger{Logger: log}}
		return NewCause(o, nil).AskOption(ctx, h, "resource")
	}
}
