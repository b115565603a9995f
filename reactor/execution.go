package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// outcome is what one attempt of one handler means for the cycle.
//
// Kopf: kopf._core.actions.execution.Outcome (v1.45).
type outcome struct {
	final    bool
	delay    *time.Duration // until the next attempt; nil: at once
	result   any
	keyed    bool       // the result of an index handler is a list of pairs
	failed   bool       // there was an error
	message  string     // of the error
	failure  *abi.Error // as the handler has given it
	warnings []string   // of reviews
	subrefs  []string   // ids of the children that were involved, at any depth
	settings map[string]abi.Raw
}

// forState is the same for the stored progress.
func (o outcome) forState() progression.Outcome {
	out := progression.Outcome{Final: o.final, Delay: o.delay, Result: o.result, Subrefs: o.subrefs}
	if o.failed {
		out.Error = &o.message
	}
	return out
}

// Errors of handlers that have not run to their end.
var (
	errExiting   = errors.New("the operator exits")
	errCancelled = errors.New("cancelled")
)

// execution calls handlers of one cause in one cycle.
type execution struct {
	settings   *settings.Settings
	lifecycle  progression.Lifecycle
	errors     errorsMode // of handlers that do not say
	entrance   entrance   // nil: everything may begin
	completion *completion
}

// entrance is where handlers enter before they begin.
type entrance interface {
	// enter waits for a place for a call of a handler; leave gives the place back. It
	// calls waits first if no place is free, unless that is nil.
	//
	// Errors: errExiting, if nothing may begin any more; that of the context.
	enter(ctx context.Context, h *Handler, waits func()) (leave func(), err error)
}

func (x *execution) enter(ctx context.Context, h *Handler, waits func()) (leave func(), err error) {
	if x.entrance == nil {
		return func() {}, nil
	}
	return x.entrance.enter(ctx, h, waits)
}

// errorsMode says what an arbitrary error means.
type errorsMode string

const (
	modeIgnored   errorsMode = "IGNORED"
	modeTemporary errorsMode = "TEMPORARY"
	modePermanent errorsMode = "PERMANENT"
)

// run calls those of the handlers that are due now: as many of them as the
// lifecycle says, one after another. An error is one of the framework, or errExiting if
// none of the handlers could begin.
func (x *execution) run(ctx context.Context, handlers []*Handler, c *cause, state progression.State) (map[string]outcome, error) {
	byID := make(map[string]*Handler, len(handlers))
	for _, h := range handlers {
		byID[h.ID] = h
	}
	outcomes := map[string]outcome{}
	for _, id := range x.lifecycle(state.Awakened(idsOf(handlers), time.Now()), state) {
		result, err := x.attempt(ctx, byID[id], c, state.Handler(id))
		if errors.Is(err, errExiting) && len(outcomes) > 0 {
			break // what has run is stored; the rest begins after the next start
		}
		if err != nil {
			return nil, err
		}
		outcomes[id] = result
	}
	return outcomes, nil
}

// attempt calls one handler once, and turns its errors into an outcome. Only the
// end of the operator, and failures of the framework, are errors.
func (x *execution) attempt(ctx context.Context, h *Handler, c *cause, state progression.HandlerState) (outcome, error) {
	if over := x.over(h, c, state); over != nil {
		return *over, nil
	}
	leave, err := x.enter(ctx, h, nil)
	if err != nil {
		return outcome{}, err
	}
	done, err := x.call(ctx, h, c.forHandler(h), state)
	leave()
	return x.conclude(ctx, h, c, state, done, err)
}

// over is the outcome of a handler that is not even attempted anymore; nil otherwise.
func (x *execution) over(h *Handler, c *cause, state progression.HandlerState) *outcome {
	c.log.debug(h.Title() + " is invoked.")
	failure := exhausted(h, state)
	if failure == "" {
		return nil
	}
	c.log.error(failure)
	x.completion.fail()
	return &outcome{final: true, failed: true, message: failure}
}

// conclude makes the outcome of an attempt that has ended.
func (x *execution) conclude(ctx context.Context, h *Handler, c *cause, state progression.HandlerState, done *ending, err error) (outcome, error) {
	if ctx.Err() != nil || errors.Is(err, errCancelled) {
		c.log.warn(h.Title() + " is cancelled. Will escalate.")
		return outcome{}, cmp.Or(ctx.Err(), errCancelled)
	}
	var guestFailure *guestError
	switch {
	case c.stopper() != nil && errors.Is(err, abi.ErrInstanceLost):
		return outcome{}, err
	case errors.As(err, &guestFailure):
		done.error = guestFailure.asError()
	case err != nil:
		return outcome{}, err
	}
	result := x.interpret(h, c.log, state, done)
	result.subrefs = done.subrefs
	result.failure, result.warnings = done.error, done.warnings
	if result.final && result.failed {
		x.completion.fail()
	}
	return result, nil
}

// exhausted tells why a handler is not even attempted anymore.
func exhausted(h *Handler, state progression.HandlerState) string {
	runtime := state.Runtime(time.Now())
	if limit := h.Spec.Timeout; limit != nil && runtime.Seconds() >= *limit {
		return fmt.Sprintf("%s has timed out after %s.", h.Title(), pythonDuration(runtime))
	}
	if limit := h.Spec.Retries; limit != nil && state.Retries >= *limit {
		return fmt.Sprintf("%s has exceeded %d retries.", h.Title(), state.Retries)
	}
	return ""
}

// interpret decides what the end of an attempt means, and logs it.
func (x *execution) interpret(h *Handler, log logger, state progression.HandlerState, done *ending) outcome {
	if done.error == nil {
		log.info(h.Title() + " succeeded.")
		return outcome{final: true, result: done.result, keyed: done.keyed, settings: done.settings}
	}
	text := done.error.Text()
	switch done.error.Kind {
	case abi.ErrorChildren:
		log.debug(h.Title() + " has unfinished sub-handlers. Will retry soon.")
		return outcome{failed: true, message: "None", delay: done.childrenDelay}
	case abi.ErrorTemporary:
		return x.interpretTemporary(h, log, state, done.error, text)
	case abi.ErrorPermanent, abi.ErrorAdmission:
		log.error(fmt.Sprintf("%s failed permanently: %s", h.Title(), text))
		return outcome{final: true, failed: true, message: done.error.Message}
	}
	return x.interpretArbitrary(h, log, state, done.error, text)
}

func (x *execution) interpretTemporary(h *Handler, log logger, state progression.HandlerState, failure *abi.Error, text string) outcome {
	delay := delayOf(failure.Delay)
	limit := lookahead(h, state, delay)
	if limit == "" {
		log.error(fmt.Sprintf("%s failed temporarily: %s", h.Title(), text))
		return outcome{failed: true, message: failure.Message, delay: delay}
	}
	message := fmt.Sprintf("%s failed temporarily but will %s: %s", h.Title(), limit, text)
	log.error(message)
	return outcome{final: true, failed: true, message: message}
}

func (x *execution) interpretArbitrary(h *Handler, log logger, state progression.HandlerState, failure *abi.Error, text string) outcome {
	mode, backoff := x.errors, x.settings.Execution.DefaultBackoff
	if h.Spec.Errors != "" {
		mode = errorsMode(h.Spec.Errors)
	}
	if h.Spec.Backoff != nil {
		backoff = settings.Seconds(*h.Spec.Backoff)
	}
	head := h.Title() + " failed with an exception and will "
	switch mode {
	case modeIgnored:
		log.failure(head+"ignore it: "+text, failure.Stack)
		return outcome{final: true}
	case modePermanent:
		log.failure(head+"stop now: "+text, failure.Stack)
		return outcome{final: true, failed: true, message: failure.Message}
	}
	switch lookahead(h, state, &backoff) {
	case "":
		log.failure(fmt.Sprintf("%stry again in %s seconds: %s", head, number(backoff.Seconds()), text), failure.Stack)
		return outcome{failed: true, message: failure.Message, delay: &backoff}
	case timeoutAhead(h):
		head += fmt.Sprintf("stop now (it would time out in %s seconds on the next attempt): %s", number(*h.Spec.Timeout), text)
	default:
		head += fmt.Sprintf("stop now (it would exceed %d retries on the next attempt): %s", *h.Spec.Retries, text)
	}
	log.failure(head, failure.Stack)
	return outcome{final: true, failed: true, message: head}
}

// lookahead tells why the next attempt would not be made: it would come too late
// or be one too many. It may miss a case, but never invents one.
func lookahead(h *Handler, state progression.HandlerState, delay *time.Duration) string {
	runtime := state.Runtime(time.Now())
	if delay != nil {
		runtime += *delay
	}
	if limit := h.Spec.Timeout; limit != nil && runtime.Seconds() >= *limit {
		return timeoutAhead(h)
	}
	if limit := h.Spec.Retries; limit != nil && state.Retries+1 >= *limit {
		return fmt.Sprintf("exceed %d retries", *limit)
	}
	return ""
}

func timeoutAhead(h *Handler) string {
	if h.Spec.Timeout == nil {
		return "time out"
	}
	return fmt.Sprintf("time out after %s seconds", number(*h.Spec.Timeout))
}

// defaultDelay is the delay of temporary errors that do not say.
const defaultDelay = 60 * time.Second

func delayOf(delay abi.Delay) *time.Duration {
	d := defaultDelay
	switch {
	case delay.Said && delay.None:
		return nil
	case delay.Said:
		d = settings.Seconds(delay.Seconds)
	}
	return &d
}

// number writes a number of seconds as it was given: 5, not 5.0.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// pythonDuration writes a duration as the reference's messages do: 0:00:01.500000.
func pythonDuration(d time.Duration) string {
	seconds := int(d / time.Second)
	text := fmt.Sprintf("%d:%02d:%02d.%06d", seconds/3600%24, seconds/60%60, seconds%60, d%time.Second/time.Microsecond)
	switch days := seconds / 86400; {
	case days == 1:
		text = "1 day, " + text
	case days > 1:
		text = fmt.Sprintf("%d days, %s", days, text)
	}
	return strings.TrimSuffix(text, ".000000")
}
