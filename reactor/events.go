package reactor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/posting"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// events decides what is posted as Kubernetes events: what handlers ask for, and
// log messages about objects if that is switched on.
//
// Kopf: kopf._core.engines.posting (v1.45).
type events struct {
	settings *settings.Settings
	poster   *posting.Poster // nil until it is started
	refusals zerolog.Sampler // of the log lines about refused events
}

// complaining is how often the log has a line about refused or dropped events: guests
// can cause any number of them.
const complaining = time.Minute

func newEvents(s *settings.Settings) *events {
	return &events{settings: s, refusals: &zerolog.BurstSampler{Burst: 1, Period: complaining}}
}

// refused logs why an event is refused: the guest gets a number only.
func (e *events) refused(log logger, err error) {
	sampled := log.Sample(e.refusals)
	sampled.Warn().Func(log.fields).Err(err).Msg("An event is refused.")
}

// start begins to post. The returned function ends it: what waits is posted still,
// as long as handlers get for the same.
func (e *events) start(ctx context.Context, client *clients.Client, namespace string, log zerolog.Logger) (stop func()) {
	s := e.settings.Posting
	e.poster = &posting.Poster{
		Send: client.PostEvent,
		Origin: posting.Origin{
			Component: s.ReportingComponent, Instance: s.ReportingInstance,
			NamePrefix: s.EventNamePrefix, Namespace: namespace,
		},
		Warn: func(message string) { log.Warn().Msg(message) },
	}
	drops := log.Sample(&zerolog.BurstSampler{Burst: 1, Period: complaining})
	e.poster.Dropping = func(total int) {
		drops.Warn().Int("dropped", total).Msg("Events are dropped: too many wait to be posted.")
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.poster.Start(working, s.WorkerLimit, s.IdleTimeout)
	return func() {
		timer := time.AfterFunc(e.settings.Queueing.ExitTimeout, cancel)
		defer timer.Stop()
		e.poster.Wait()
		cancel()
	}
}

// dropped is how many events were dropped, since too many waited. It is called after
// the start only.
func (e *events) dropped() int { return e.poster.Dropped() }

// namespaceOf is where events about an object are posted.
func (e *events) namespaceOf(ref posting.Ref) string {
	if e.poster == nil {
		return cmp.Or(ref.Namespace, "default")
	}
	return e.poster.Origin.NamespaceOf(ref)
}

// namespaceOfEvents is where events about cluster-scoped objects go; empty: the default. A
// guest that logs in chooses among the namespaces in which it may post events.
func namespaceOfEvents(info credentials.Info, caller *calls.Caller, log zerolog.Logger) string {
	if !info.GuestNamespace {
		return info.DefaultNamespace
	}
	err := apipath.CheckNamespace(info.DefaultNamespace)
	if err == nil {
		err = caller.AllowsEvents(info.DefaultNamespace)
	}
	if err != nil {
		log.Warn().Err(err).Msg("The default namespace of a login handler is ignored.")
		return ""
	}
	return info.DefaultNamespace
}

// explicit posts what a handler asks for. The reference posts warnings even if
// posting is disabled.
func (e *events) explicit(ref posting.Ref, event abi.Event) error {
	s := e.settings.Posting
	enabled := s.Enabled || event.Level == levelWarn
	if e.poster == nil || !enabled || event.Level > 0 && event.Level < s.Level {
		return nil
	}
	pauses := s.DefaultBackoffs
	if !event.Backoffs.IsNull() {
		var asked backoffs.Backoffs
		if err := json.Unmarshal(event.Backoffs, &asked); err != nil {
			return fmt.Errorf("the backoffs of an event: %w", err)
		}
		pauses, _ = asked.ForGuests()
	}
	err := e.poster.Post(posting.Event{
		Ref: ref, Type: event.Type, Reason: event.Reason, Message: event.Message, Backoffs: pauses,
	})
	if errors.Is(err, posting.ErrOverflow) {
		err = fmt.Errorf("%w: %w", abi.ErrTooLarge, err)
	}
	return err
}

// logged posts a log message about an object, if log messages are to be posted.
func (e *events) logged(level int, ref posting.Ref, message string) {
	s := e.settings.Posting
	if e.poster == nil || !s.Enabled || !s.Loggers || level < s.Level {
		return
	}
	_ = e.poster.Post(posting.Event{ // dropped ones are counted by the poster
		Ref: ref, Type: eventTypeOf(level), Reason: "Logging", Message: message, Backoffs: s.LoggingBackoffs,
	})
}

// eventTypeOf are the types of events of log messages.
func eventTypeOf(level int) string {
	switch {
	case level <= levelDebug:
		return "Debug"
	case level <= levelInfo:
		return "Normal"
	case level <= levelWarn:
		return "Warning"
	case level <= levelError:
		return "Error"
	}
	return "Fatal"
}
