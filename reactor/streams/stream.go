package streams

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/claims"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/completion"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/membership"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Common is what the streams of one operator share.
type Common struct {
	Generations *generations.Generations
	Settings    *settings.Settings
	Client      *clients.Client
	Account     *accounts.Account
	Memories    *processing.Memories
	Runnables   *daemons.Runnables
	Completion  *completion.Completion
	Pauses      *pauses.Pauses
	Streams     *Set
	States      *watching.Set
	Watches     func(d dimensions.Dimension) watching.Source // nil: each watch has a connection of its own
	Loops       *loops.Limiter                               // nil: no limit
	Waits       *meters.Histogram                            // how long events wait; nil: nothing measures it
	Leader      *Leader                                      // nil: there are no other replicas
	Holdings    *membership.Holdings                         // nil: all objects belong to this replica
	Claims      *claims.Claims                               // nil: no check for other operators
	By          claims.Claimant
	Ending      <-chan struct{} // closed when the operator ends, which then gives back all claims; nil: it never does
	Log         zerolog.Logger
	Many        func() (end func()) // see watching.Stream; nil: nothing
	RefKey      string              // the log field that holds the reference of the object
}

// Set holds the running streams of objects. The zero value is empty.
type Set struct {
	// Gone reports whether the resource or the namespace of a stream does not exist any
	// more, so that its objects do not either. If it is nil, all exist. It is set before the
	// first stream starts.
	Gone func(d dimensions.Dimension) bool

	// Left reports whether the namespace of a stream exists, but is not served any more, so
	// that the work on its objects ends. Nil: none was left.
	Left func(d dimensions.Dimension) bool

	ending sync.Mutex // held while no stream may end; taken before mu

	mu    sync.Mutex // guards the fields below
	items map[*Stream]bool
	left  map[dimensions.Key]watching.Objects // objects that were known when their stream ended
}

// follow passes the known objects of ended streams to their successor, which may have another version of the resource. The resource
// or the namespace may have been absent for long, and the deletions of its objects were missed.
func (s *Set) follow(key dimensions.Key, stream *watching.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all watching.Objects
	for ended, known := range s.left {
		if !ended.Overlaps(key) {
			continue
		}
		if all == nil {
			all = known
		} else {
			maps.Copy(all, known)
		}
		delete(s.left, ended)
	}
	if all != nil {
		stream.Inherit(all)
	}
}

// leave keeps the known objects of a stream for a possible successor. A stream of another version that runs sees their ends itself.
func (s *Set) leave(key dimensions.Key, stream *watching.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(stream.Known()) == 0 {
		return
	}
	for other := range s.items {
		if other.Dimension.Key().Overlaps(key) {
			return
		}
	}
	if s.left == nil {
		s.left = map[dimensions.Key]watching.Objects{}
	}
	s.left[key] = stream.Known()
}

// isGone is Gone.
func (s *Set) isGone(d dimensions.Dimension) bool { return s.Gone != nil && s.Gone(d) }

// Each calls a function for all streams, which may wait. No stream ends during the call.
func (s *Set) Each(do func(*Stream)) {
	s.ending.Lock()
	defer s.ending.Unlock()
	for _, item := range s.Now() {
		do(item)
	}
}

// Now returns the present streams, which may end at any time. It does not wait for Each.
func (s *Set) Now() []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.items))
}

func (s *Set) add(item *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = map[*Stream]bool{}
	}
	s.items[item] = true
}

func (s *Set) remove(item *Stream) {
	s.ending.Lock()
	defer s.ending.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, item)
}

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

// Serve serves one resource in one namespace until the context ends. It then waits for the
// workers of its objects, within the patience, and calls ended. It may return before: a stream that
// waits for events of a shared watch has no goroutine. While the operator pauses, nothing is
// watched, but queued events are still handled. If the resource or the namespace is gone by
// then, all objects that were known are handled as deleted.
func (c *Common) Serve(ctx context.Context, d *dimensions.Dimension, ended func()) {
	if s := c.newStream(ctx, d); s != nil {
		s.serve(ctx, ended)
	} else {
		ended()
	}
}

// log returns the logger of streams. It is made for each use, because a logger takes half a
// kilobyte.
func (c *Common) log() *zerolog.Logger {
	return new(c.Log.With().Str(loggers.Field, "kopf.reactor").Logger())
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

// serve reads the watch until the context ends, then waits for the work on the objects.
func (s *Stream) serve(ctx context.Context, ended func()) {
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

// queueSink feeds the queues of objects from a stream.
type queueSink struct {
	ctx        context.Context // of the workers: it outlives the stream
	queues     *queueing.Queues
	gate       *indexing.Gate // waits for the initial listing; nil if no gate waits
	completion *completion.Completion
	key        dimensions.Key // of the stream
}

// Event queues an event. The gate waits for each object of the initial listing.
func (s *queueSink) Event(event watching.Event) {
	if event.Type == watching.Listed {
		s.completion.Add(event.Meta.Key())
	}
	s.put(queueing.Item{Event: event})
}

func (s *queueSink) put(it queueing.Item) {
	if s.gate != nil && it.Type == watching.Listed && s.gate.Add() {
		it.Indexed = sync.OnceFunc(s.gate.Done)
	}
	s.queues.Put(s.ctx, it)
}

// Listed ends the gate's wait for the listing itself.
func (s *queueSink) Listed() {
	s.completion.Listed(s.key)
	s.over()
}

// over ends the gate's wait.
func (s *queueSink) over() {
	if s.gate != nil {
		s.gate.Done()
		s.gate = nil
	}
}

// againSink is a queueSink for objects that have not changed.
type againSink struct {
	*queueSink
	common *Common
}

// Event queues an object.
func (s *againSink) Event(event watching.Event) {
	s.put(queueing.Item{Event: event, Again: true, Standby: s.common.standsBy()})
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
			Dimension: s.Dimension, Persistence: s.common.Settings.Persistence, Forbidden: func() bool { return s.watch.Health().Forbidden },
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
