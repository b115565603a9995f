package handling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/durations"
	"github.com/kopf-wasm/kopf/reactor/completion"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// These are the errors of handlers that did not run to their end.
var (
	ErrExiting   = errors.New("the operator exits")
	ErrCancelled = errors.New("cancelled")
)

// Execution calls handlers of one cause in one cycle.
type Execution struct {
	Settings   *settings.Settings
	Lifecycle  progression.Lifecycle
	Errors     ErrorsMode // for handlers without the option
	Entrance   Entrance   // nil: every handler may begin
	Completion *completion.Completion

	// Changed is called with the settings that a startup handler has changed. Other handlers change none.
	Changed func(changes map[string]abi.Raw) error
}

// Entrance admits handlers before they begin.
type Entrance interface {
	// Enter waits for a place for a call of a handler; leave returns the place. If no place
	// is free, Enter first calls waits, which may be nil.
	//
	// Errors: ErrExiting, if no handler may begin any more; that of the context.
	Enter(ctx context.Context, h *registries.Handler, waits func()) (leave func(), err error)

	// Continue is called before each further step of a handler that has entered.
	//
	// Errors: ErrExiting, if another replica may handle the object by now.
	Continue() error
}

// Enter enters the entrance of the execution, if it has one.
func (x *Execution) Enter(ctx context.Context, h *registries.Handler, waits func()) (leave func(), err error) {
	if x.Entrance == nil {
		return func() {}, nil
	}
	return x.Entrance.Enter(ctx, h, waits)
}

// mayContinue is Entrance.Continue.
func (x *Execution) mayContinue() error {
	if x == nil || x.Entrance == nil {
		return nil
	}
	return x.Entrance.Continue()
}

// ErrorsMode says what an arbitrary error means for the handler.
type ErrorsMode string

const (
	ModeIgnored   ErrorsMode = "IGNORED"   // the handler has succeeded
	ModeTemporary ErrorsMode = "TEMPORARY" // the handler is retried
	ModePermanent ErrorsMode = "PERMANENT" // the handler has failed for good
)

// Run calls the handlers that are due now. The lifecycle decides how many of them, and Run
// calls them one after another. An error is a failure of the framework, or ErrExiting if
// none of the handlers could begin.
func (x *Execution) Run(ctx context.Context, handlers []*registries.Handler, c *Cause, state progression.State) (map[string]*Outcome, error) {
	outcomes, find := map[string]*Outcome{}, finder(handlers)
	for _, id := range x.Lifecycle(state.Awakened(registries.IDs(handlers), time.Now()), state) {
		result, err := x.Attempt(ctx, find(id), c, state.Handler(id))
		if errors.Is(err, ErrExiting) && len(outcomes) > 0 {
			break // the outcomes so far are stored; the next start of the operator runs the rest
		}
		if err != nil {
			return nil, err
		}
		_, isActivity := c.Kind.(*Activity)
		if earlier := outcomes[id]; earlier == nil || !earlier.Failed || !isActivity {
			outcomes[id] = &result // of two activities with one id, a failure counts
		}
	}
	return outcomes, nil
}

// finder returns a function that finds the handlers with an id, one after another: the lifecycle names the id of each handler
// that it selects.
func finder(handlers []*registries.Handler) func(id string) *registries.Handler {
	if len(handlers) == 1 {
		return func(string) *registries.Handler { return handlers[0] }
	}
	first, next := make(map[string]int, len(handlers)), make([]int, len(handlers))
	for i, h := range slices.Backward(handlers) {
		next[i] = first[h.ID]
		first[h.ID] = i
	}
	return func(id string) *registries.Handler {
		i := first[id]
		first[id] = next[i]
		return handlers[i]
	}
}

// Attempt calls one handler once, and turns its errors into an outcome. It returns an
// error only at the exit of the operator, and for failures of the framework.
func (x *Execution) Attempt(ctx context.Context, h *registries.Handler, c *Cause, state progression.HandlerState) (Outcome, error) {
	if over := x.Over(h, c, state); over != nil {
		return *over, nil
	}
	leave, err := x.Enter(ctx, h, nil)
	if err != nil {
		return Outcome{}, err
	}
	done, err := func() (*Ending, error) {
		defer leave() // after a panic, too
		return x.call(ctx, h, c.forHandler(ctx, h), state)
	}()
	return x.Conclude(ctx, h, c, state, done, err)
}

// Over returns the outcome of a handler that gets no further attempt; nil if it gets one.
func (x *Execution) Over(h *registries.Handler, c *Cause, state progression.HandlerState) *Outcome {
	if c.Log.Uses(abi.LevelDebug) {
		c.Log.Debug(h.Title() + " is invoked.")
	}
	failure := exhausted(h, state)
	if failure == "" {
		return nil
	}
	c.Log.Error(failure)
	c.meter(h).Exhaust()
	x.Completion.Fail()
	return &Outcome{final: true, Failed: true, Message: failure}
}

// Conclude returns the outcome of an attempt that has ended, and counts it.
func (x *Execution) Conclude(ctx context.Context, h *registries.Handler, c *Cause, state progression.HandlerState, done *Ending, err error) (Outcome, error) {
	result, err := x.conclude(ctx, h, c, state, done, err)
	if err != nil {
		c.meter(h).Conclude(meters.Cancelled)
		return Outcome{}, err
	}
	c.meter(h).Conclude(result.meaning(done.error))
	return result, nil
}

func (x *Execution) conclude(ctx context.Context, h *registries.Handler, c *Cause, state progression.HandlerState, done *Ending, err error) (Outcome, error) {
	if ctx.Err() != nil || errors.Is(err, ErrCancelled) {
		c.Log.Warn(h.Title() + " is cancelled. Will escalate.")
		return Outcome{}, cmp.Or(ctx.Err(), ErrCancelled)
	}
	var guestFailure *guestError
	switch {
	case c.Stopper() != nil && errors.Is(err, abi.ErrInstanceLost):
		return Outcome{}, err
	case errors.As(err, &guestFailure):
		done.error = guestFailure.asError()
	case err != nil:
		return Outcome{}, err
	}
	c.Tally.ended(done.error != nil && done.error.Kind != abi.ErrorChildren)
	if len(done.settings) > 0 && x.Changed != nil {
		if err := x.Changed(done.settings); err != nil {
			return Outcome{}, err
		}
	}
	result := x.interpret(h, c.Log, state, done)
	result.subrefs, result.Settings = done.subrefs, done.settings
	result.Failure, result.Warnings = done.error, done.warnings
	if result.final && result.Failed {
		x.Completion.Fail()
	}
	return result, nil
}

// exhausted returns why a handler gets no further attempt; empty if it gets one.
func exhausted(h *registries.Handler, state progression.HandlerState) string {
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
func (x *Execution) interpret(h *registries.Handler, log loggers.Logger, state progression.HandlerState, done *Ending) Outcome {
	if done.error == nil {
		log.Info(h.Title() + " succeeded.")
		return Outcome{final: true, Result: done.result, Size: done.size, Keyed: done.keyed}
	}
	switch done.error.Kind {
	case abi.ErrorChildren:
		log.Debug(h.Title() + " has unfinished sub-handlers. Will retry soon.")
		return Outcome{Failed: true, Message: "None", delay: done.childrenDelay}
	case abi.ErrorTemporary:
		return interpretTemporary(h, log, state, done.error)
	case abi.ErrorPermanent, abi.ErrorAdmission:
		log.Error(fmt.Sprintf("%s failed permanently: %s", h.Title(), done.error.Text()))
		return Outcome{final: true, Failed: true, Message: done.error.Message}
	}
	return x.interpretArbitrary(h, log, state, done.error)
}

func interpretTemporary(h *registries.Handler, log loggers.Logger, state progression.HandlerState, failure *abi.Error) Outcome {
	text, delay := failure.Text(), delayOf(failure.Delay)
	limit := lookahead(h, state, delay)
	if limit == "" {
		log.Error(fmt.Sprintf("%s failed temporarily: %s", h.Title(), text))
		return Outcome{Failed: true, Message: failure.Message, delay: delay}
	}
	message := fmt.Sprintf("%s failed temporarily but will %s: %s", h.Title(), limit, text)
	log.Error(message)
	return Outcome{final: true, Failed: true, Message: message}
}

func (x *Execution) interpretArbitrary(h *registries.Handler, log loggers.Logger, state progression.HandlerState, failure *abi.Error) Outcome {
	text, mode, backoff := failure.Text(), x.Errors, x.Settings.Execution.DefaultBackoff
	if h.Spec.Errors != "" {
		mode = ErrorsMode(h.Spec.Errors)
	}
	if h.Spec.Backoff != nil {
		backoff = durations.Seconds(*h.Spec.Backoff)
	}
	head := h.Title() + " failed with an exception and will "
	switch mode {
	case ModeIgnored:
		log.Failure(head+"ignore it: "+text, failure.Stack)
		return Outcome{final: true}
	case ModePermanent:
		log.Failure(head+"stop now: "+text, failure.Stack)
		return Outcome{final: true, Failed: true, Message: failure.Message}
	}
	switch lookahead(h, state, &backoff) {
	case "":
		log.Failure(fmt.Sprintf("%stry again in %s seconds: %s", head, number(backoff.Seconds()), text), failure.Stack)
		return Outcome{Failed: true, Message: failure.Message, delay: &backoff}
	case timeoutAhead(h):
		head += fmt.Sprintf("stop now (it would time out in %s seconds on the next attempt): %s", number(*h.Spec.Timeout), text)
	default:
		head += fmt.Sprintf("stop now (it would exceed %d retries on the next attempt): %s", *h.Spec.Retries, text)
	}
	log.Failure(head, failure.Stack)
	return Outcome{final: true, Failed: true, Message: head}
}

// lookahead returns why the next attempt would not be made: it would exceed the timeout or
// the retries. It may overlook a limit, but it never reports one without reason.
func lookahead(h *registries.Handler, state progression.HandlerState, delay *time.Duration) string {
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

func timeoutAhead(h *registries.Handler) string {
	if h.Spec.Timeout == nil {
		return "time out"
	}
	return fmt.Sprintf("time out after %s seconds", number(*h.Spec.Timeout))
}

// defaultDelay is the delay of temporary errors that set none.
const defaultDelay = 60 * time.Second

func delayOf(delay abi.Delay) *time.Duration {
	d := defaultDelay
	switch {
	case delay.Said && delay.None:
		return nil
	case delay.Said:
		d = durations.Seconds(delay.Seconds)
	}
	return &d
}

// number formats a number of seconds without needless digits: 5, not 5.0.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// pythonDuration formats a duration as Kopf's messages do: 0:00:01.500000.
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
