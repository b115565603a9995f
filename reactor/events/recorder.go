// Package events decides which Kubernetes events are posted: events that handlers request,
// and log messages about objects. Package posting posts them.
//
// Kopf: kopf._core.engines.posting (v1.45).
package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/posting"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
)

// Recorder decides which Kubernetes events are posted: events that handlers request, and
// log messages about objects if the settings enable that.
//
// Kopf: kopf._core.engines.posting (v1.45).
type Recorder struct {
	Settings *settings.Settings
	Charge   *accounts.Charge // for the memory of pending events; may be nil
	Poster   *posting.Poster  // nil before Start
	refusals zerolog.Sampler  // limits log lines about refused events
}

// Complaining is the shortest time between log lines about refused or dropped events:
// guests can cause any number of them.
const Complaining = time.Minute

// New makes a Recorder, which posts nothing before Start.
func New(s *settings.Settings) *Recorder {
	return &Recorder{Settings: s, refusals: &zerolog.BurstSampler{Burst: 1, Period: Complaining}}
}

// Refused logs why an event is refused. The guest gets only a number.
func (e *Recorder) Refused(log loggers.Logger, err error) {
	sampled := log.Sample(e.refusals)
	sampled.Warn().Func(log.Fields).Err(err).Msg("An event is refused.")
}

// Start starts posting. The returned function stops it. It first posts the waiting events,
// within the time that handlers get at the exit.
func (e *Recorder) Start(ctx context.Context, client *clients.Client, namespace string, log zerolog.Logger) (stop func()) {
	s := e.Settings.Posting
	e.Poster = &posting.Poster{
		Send: client.PostEvent,
		Origin: posting.Origin{
			Component: s.ReportingComponent, Instance: s.ReportingInstance,
			NamePrefix: s.EventNamePrefix, Namespace: namespace,
		},
		Warn:   func(message string) { log.Warn().Msg(message) },
		Charge: e.Charge,
	}
	drops := log.Sample(&zerolog.BurstSampler{Burst: 1, Period: Complaining})
	e.Poster.Dropping = func(total int) {
		drops.Warn().Int("dropped", total).Msg("Events are dropped: too many wait to be posted.")
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.Poster.Start(working, s.WorkerLimit, s.IdleTimeout)
	return func() {
		defer stoppers.AfterForce(ctx, cancel)()
		timer := time.AfterFunc(e.Settings.Queueing.ExitTimeout, cancel)
		defer timer.Stop()
		e.Poster.Wait()
		cancel()
	}
}

// Dropped returns how many events were dropped because too many were waiting. It must not
// be called before Start.
func (e *Recorder) Dropped() int { return e.Poster.Dropped() }

// NamespaceOf returns the namespace in which events about an object are posted.
func (e *Recorder) NamespaceOf(ref posting.Ref) string {
	if e.Poster == nil {
		return cmp.Or(ref.Namespace, "default")
	}
	return e.Poster.Origin.NamespaceOf(ref)
}

// NamespaceOfEvents returns the namespace of events about cluster-scoped objects; empty
// means the default. A guest that logs in may choose only namespaces in which it may post
// events.
func NamespaceOfEvents(info credentials.Info, caller *calls.Caller, log zerolog.Logger) string {
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

// Explicit posts an event that a handler requests. As in Kopf, warnings are posted even if
// posting is disabled.
func (e *Recorder) Explicit(ref posting.Ref, event abi.Event) error {
	s := e.Settings.Posting
	enabled := s.Enabled || event.Level == abi.LevelWarning
	if e.Poster == nil || !enabled || event.Level > 0 && event.Level < s.Level {
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
	err := e.Poster.Post(posting.Event{
		Ref: ref, Type: event.Type, Reason: event.Reason, Message: event.Message, Backoffs: pauses,
	})
	if errors.Is(err, posting.ErrOverflow) {
		err = fmt.Errorf("%w: %w", abi.ErrTooLarge, err)
	}
	return err
}

// Logged posts a log message about an object, if posting of log messages is enabled.
func (e *Recorder) Logged(level int, ref posting.Ref, message string) {
	s := &e.Settings.Posting
	if e.Poster == nil || !s.Enabled || !s.Loggers || level < s.Level {
		return
	}
	_ = e.Poster.Post(posting.Event{ // the poster counts dropped events
		Ref: ref, Type: eventTypeOf(level), Reason: "Logging", Message: message, Backoffs: e.Settings.Posting.LoggingBackoffs,
	})
}

// eventTypeOf returns the event type of a log message.
func eventTypeOf(level int) string {
	switch {
	case level <= abi.LevelDebug:
		return "Debug"
	case level <= abi.LevelInfo:
		return "Normal"
	case level <= abi.LevelWarning:
		return "Warning"
	case level <= abi.LevelError:
		return "Error"
	}
	return "Fatal"
}
