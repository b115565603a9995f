package streams

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/reactor/claims"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/rights"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Stream serves one resource in one namespace: its watch, its objects, and the handlers of
// its last generation.
type Stream struct {
	common    *Common
	Dimension dimensions.Dimension
	watch     *watching.Stream
	queues    *queueing.Queues
	working   context.Context // of the workers: it outlives reading
	cancel    func()          // ends working
	reading   context.Context // of the watch
	Processor atomic.Pointer[processing.Processor]
	Born      atomic.Uint32 // number of the first generation plus 1; 0: the stream has not begun

	listings sync.WaitGroup // repeated listings for Again, and of the share

	share *share // nil: all objects belong to this replica

	claiming sync.Mutex // guards release
	release  func()     // releases the claim
}

// newStream makes a stream; nil if its resource has no URL.
func (c *Common) newStream(ctx context.Context, d *dimensions.Dimension) *Stream {
	path, err := d.Resource.URL(d.Namespace, "", "")
	if err != nil {
		c.log().Error().Err(err).Msg("a resource cannot be served")
		c.Completion.Listed(d.Key())
		return nil
	}
	s := &Stream{common: c, Dimension: *d, queues: queueing.Of(c.Settings), reading: ctx}
	s.working, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.queues.Process, s.queues.Account, s.queues.Waits = s.process, c.Account, c.Waits
	s.share = newShare(s)
	s.watch = &watching.Stream{
		Client: c.Client, Path: path, APIVersion: d.Resource.APIVersion(), Kind: d.Resource.Kind, Options: watching.Filtered(c.Settings, d.Resource),
		Log: func(level int, message string) { c.log().WithLevel(loggers.ZerologLevel(level)).Msg(message) }, Pace: s.queues.Hold, Many: c.Many, Apart: true,
	}
	if c.Watches != nil {
		s.watch.Source = c.Watches(*d)
	}
	c.Streams.follow(d.Key(), s.watch)
	return s
}

// streamCost is what a stream takes, in bytes: its goroutines, and what the connection has read for it.
const streamCost = 64 << 10

// serve reads the watch until the context ends, then waits for the work on the objects.
func (s *Stream) serve(ctx context.Context, ended func()) {
	if err := s.common.Account.Charged().Force(streamCost); err != nil {
		s.common.By.Refuse(err)
	}
	leave := s.common.States.Enter(ctx, s.supervised())
	s.common.Streams.add(s)
	gate, err := s.begin()
	sink := s.sink(gate)
	read := func() {
		s.common.Streams.remove(s)
		leave()
		s.relieve(sink)
		s.end(ctx)
		s.ended()
		s.common.Account.Charged().Give(streamCost)
		ended()
	}
	if err != nil {
		if ctx.Err() == nil { // another operator has the objects
			s.common.By.Refuse(err)
		}
		<-ctx.Done()
		read()
		return
	}
	s.standBy(ctx, sink, func() {
		s.share.start(ctx)
		s.common.Pauses.Between(ctx, func(ctx context.Context, over func()) { s.watch.Start(ctx, sink, over) }, read) // a run ends with its context only
	})
}

// relieve lets no handler wait for a listing that was cut off, because its namespace or its resource is not served any more. When the
// operator ends, the gate stays closed: no handler begins then, with indices that are incomplete.
func (s *Stream) relieve(sink *queueSink) {
	select {
	case <-s.common.Ending:
	default:
		sink.over()
	}
}

// supervised is the entry of the stream among the states of all streams.
func (s *Stream) supervised() *watching.Supervised {
	d := &s.Dimension
	s.common.log().Debug().Msg(fmt.Sprintf("Starting the watch-stream for %s %s.", d.Resource, loggers.Scope(d.Namespace)))
	return &watching.Supervised{Stream: s.watch, Resource: d.Resource.String(), Namespace: d.Namespace, Purpose: watching.ForHandlers, Paused: s.common.Pauses.IsOn}
}

// ended hands on what is known of the objects.
func (s *Stream) ended() {
	key := s.Dimension.Key()
	s.common.Streams.leave(key, s.watch)
	s.cancel()
	s.common.Completion.Listed(key)
}

// end waits for the work on the objects, after reading has ended.
func (s *Stream) end(ctx context.Context) {
	o, d := s.common, &s.Dimension
	s.listings.Wait()
	left := o.Streams.Left != nil && o.Streams.Left(*d)
	lost := s.lose()
	o.log().Debug().Msg(fmt.Sprintf("Stopping the watch-stream for %s %s.", d.Resource, loggers.Scope(d.Namespace)))
	defer s.unclaim()
	relax := stoppers.AfterForce(ctx, s.cancel)
	if left := s.queues.Drain(s.cancel, o.Settings.Queueing.ExitTimeout); left > 0 {
		o.log().Warn().Msg(fmt.Sprintf("Unprocessed streams left for %d objects of %s.", left, d.Resource))
	}
	relax()
	s.abandon(ctx, append(lost, s.queues.Undeleted()...)) // no later stream knows of what has waited for its turn, either
	if left {
		s.depart(ctx)
	}
	s.share.giveUp(ctx)
}

// lose queues the deletions of all known objects if their resource or their namespace is
// gone. It returns their keys.
func (s *Stream) lose() []string {
	if !s.common.Streams.isGone(s.Dimension) {
		return nil
	}
	lost := slices.Collect(maps.Keys(s.watch.Known()))
	s.watch.Lose(s.sink(nil))
	return lost
}

// abandon forgets the objects that are gone, and whose deletions were not handled in time.
func (s *Stream) abandon(ctx context.Context, lost []string) {
	if len(lost) == 0 {
		return
	}
	e := s.common.Generations.Hold()
	defer e.Release()
	for _, key := range lost {
		s.take(e).Abandon(ctx, key)
	}
}

// depart ends the work on all objects of a namespace that is not served any more.
func (s *Stream) depart(ctx context.Context) {
	e := s.common.Generations.Hold()
	defer e.Release()
	p := s.take(e)
	var ending sync.WaitGroup // their daemons can take some time
	for key := range s.watch.Known() {
		ending.Go(func() { p.LetGo(ctx, key) })
		e.Services.Indices.Discard(key)
		s.common.Completion.Done(key)
	}
	ending.Wait()
	s.watch.Inherit(nil) // a later stream of the namespace knows no object
}

// begin takes the current handlers, and returns the gate that waits for the stream, also with an error.
func (s *Stream) begin() (*indexing.Gate, error) {
	e := s.common.Generations.Hold()
	defer e.Release()
	if err := s.Reclaim(e); err != nil {
		return e.GateOf(s.Dimension), err
	}
	s.take(e)
	s.attend()
	s.Born.Store(e.Number + 1)
	return e.GateOf(s.Dimension), nil
}

// attend lets the stream pass the objects that can concern the present handlers.
func (s *Stream) attend() {
	handlers := s.common.Generations.Present().Registry.ForResource(s.Dimension.Resource)
	s.watch.SetInterest(handlers.Interest(s.common.Settings.Persistence.Finalizer))
}

func (s *Stream) sink(gate *indexing.Gate) *queueSink {
	return &queueSink{ctx: s.working, queues: s.queues, completion: s.common.Completion, key: s.Dimension.Key(), gate: gate}
}

// Load returns how many events wait, and how many objects have a worker.
func (s *Stream) Load() (waiting, working int) { return s.queues.Load() }

// State returns what the stream does for an object.
func (s *Stream) State(key string) queueing.State { return s.queues.State(key) }

// Oldest returns when the event began to wait that has waited longest; zero if none waits.
func (s *Stream) Oldest() time.Time { return s.queues.Oldest() }

// process handles an event with the current handlers.
func (s *Stream) process(ctx context.Context, it queueing.Item, q *queueing.Queue) (version string) {
	it, concerns := s.share.sort(ctx, it, q)
	if !concerns {
		it.Drop()
		return ""
	}
	if it.Bodiless {
		var known bool
		if it, known = s.admit(ctx, it, q); !known {
			it.Drop()
			return ""
		}
		defer q.Give(&it)
	}
	if it, concerns = s.share.hold(it); !concerns {
		it.Drop()
		return ""
	}
	for again := true; again; {
		if version, again = s.take(s.common.Generations.Hold()).Process(ctx, it, q); again && s.share.isLosing(it) {
			it.Drop()
			break
		}
	}
	s.share.handled(it)
	return version
}

// take makes the handlers of a generation those of the stream. The caller holds the
// generation.
func (s *Stream) take(e *generations.Generation) *processing.Processor {
	if p := s.Processor.Load(); p != nil && p.Generation == e {
		return p
	}
	o := s.common
	p := &processing.Processor{
		Resource: s.Dimension.Resource, Generation: e, Handlers: e.Registry.ForResource(s.Dimension.Resource), Settings: o.Settings, Memories: o.Memories,
		Writer: &patching.Writer{Client: o.Client, Guard: o.guard()}, Runnables: o.Runnables, Entrance: o.entrance(), Completion: o.Completion, Loops: o.Loops, Log: o.Log, RefKey: o.RefKey,
	}
	p.Engine = &daemons.Engine{
		Handlers: p.Handlers.Spawning, Execution: p.Execution(progression.AllAtOnce, handling.ModeTemporary), Writer: p.Writer,
		Generation: e, Runnables: o.Runnables, Pauses: o.Pauses, Settings: o.Settings, Decode: p.Decode,
	}
	s.queues.SetEvery(len(p.Handlers.Watching) > 0)
	s.Processor.Store(p)
	return p
}

// Refresh takes the handlers of a generation that has more handlers for the resource than
// before, and shows all objects to them.
func (s *Stream) Refresh(ctx context.Context, e *generations.Generation) {
	p := s.Processor.Load()
	if p == nil || p.Generation != e || e.Registry.ForResource(s.Dimension.Resource).Count() == p.Handlers.Count() {
		return
	}
	if err := s.Reclaim(e); err != nil {
		s.common.By.Refuse(err)
		return
	}
	s.Processor.Store(nil)
	s.take(e)
	s.Again(ctx, nil)
}

// Again shows all objects to the handlers of a generation once more. The gate, if not nil,
// waits for that. In a replica that stands by, it fills the indices only: the leader lists all objects.
func (s *Stream) Again(ctx context.Context, gate *indexing.Gate) {
	s.attend()
	ctx, cancel := context.WithCancel(ctx)
	end := context.AfterFunc(s.reading, cancel) //nolint:contextcheck // it ends with either
	s.listings.Go(func() {                      // Stream.end waits for it.
		defer end()
		defer cancel()
		sink := &againSink{s.sink(gate), s.common}
		defer s.relieve(sink.queueSink)                              // if it ends early
		if s.common.standsBy() || s.common.Pauses.Wait(ctx) == nil { // a replica that stands by pauses until it leads
			_ = s.watch.Again(ctx, sink) // it ends early with the context only
		}
	})
}

// Reclaim claims the dimension of a stream for another generation. The former claim is given back afterwards, so that no other operator
// can claim the objects in between.
//
// Errors: those of Claims.Claim; the former claim stays then.
func (s *Stream) Reclaim(e *generations.Generation) error {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	handlers := e.Registry.ForResource(s.Dimension.Resource)
	var release func()
	if s.common.Claims != nil && len(handlers.Changing)+len(handlers.Spawning) > 0 { // other handlers store nothing on the objects
		var err error
		if release, err = s.common.Claims.Claim(s.reading, s.common.By, claims.Wanted{
			Dimension: s.Dimension, Persistence: s.common.Settings.Persistence, Forbidden: func() bool { return s.watch.Health().Forbidden }, Refused: s.isRefused,
		}); err != nil {
			return err
		}
	}
	if s.release != nil {
		s.release()
	}
	s.release = release
	return nil
}

// isRefused asks the API server whether the operator may not list the objects, or not patch them. Without an answer, it may.
func (s *Stream) isRefused() bool {
	r := &s.Dimension.Resource
	for _, verb := range []string{"list", "patch"} {
		question := rights.Question{Resource: &rights.Resource{Verb: verb, Group: r.Group, Version: r.Version, Plural: r.Plural, Namespace: s.Dimension.Namespace}}
		if allowed, err := question.Ask(s.reading, s.common.Client.Ask); err == nil && !allowed {
			return true
		}
	}
	return false
}

// unclaim gives back the claim of a stream, unless the operator ends: its daemons may still work on the objects.
func (s *Stream) unclaim() {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	select {
	case <-s.common.Ending:
	default:
		if s.release != nil {
			s.release()
		}
	}
}
