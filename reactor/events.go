package reactor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
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
}

func newEvents(s *settings.Settings) *events { return &events{settings: s} }

// start begins to post. The returned function ends it: what waits is posted still,
// as long as handlers get for the same.
func (e *events) start(ctx context.Context, client *clients.Client, namespace string, log zerolog.Logger) (stop func()) {
	s := e.settings.Posting
	e.poster = &posting.Poster{
		Send: client.Post,
		Origin: posting.Origin{
			Component: s.ReportingComponent, Instance: s.ReportingInstance,
			NamePrefix: s.EventNamePrefix, Namespace: namespace,
		},
		Warn: func(message string) { log.Warn().Msg(message) },
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
		pauses = backoffs.Backoffs{}
		if err := json.Unmarshal(event.Backoffs, &pauses); err != nil {
			return fmt.Errorf("the backoffs of an event: %w", err)
		}
	}
	return e.poster.Post(posting.Event{
		Ref: ref, Type: event.Type, Reason: event.Reason, Message: event.Message, Backoffs: pauses,
	})
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
