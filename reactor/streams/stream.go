package streams

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

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
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Host is what the streams of one operator share.
type Host struct {
	Generations *generations.Generations
	Settings    *settings.Settings
	Client      *clients.Client
	Account     *accounts.Account
	Memories    *processing.Memories
	Runnables   *daemons.Runnables
	Completion  *completion.Completion
	Pauses      *pauses.Pauses
	Served      *Set
	States      *watching.Set
	Claims      *claims.Claims // nil: no other operator is looked for
	By          claims.Claimant
	Log         zerolog.Logger
	RefKey      string          // the field of the object's reference in log lines
	Refuse      func(err error) // ends the operator
}

// Set are the streams of objects that run. The zero value is empty.
type Set struct {
	Handled atomic.Uint64 // events of objects

	mu    sync.Mutex // guards all below
	items map[*Stream]bool
	left  map[dimensions.Key]map[string]watching.Meta // objects that were known when their stream ended
}

// follow lets a stream know what its predecessor knew, which may have ended long ago: the
// resource or the namespace has been away, and the deletions of its objects were not seen.
func (s *Set) follow(key dimensions.Key, stream *watching.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.left[key]; known != nil {
		stream.Inherit(known)
		delete(s.left, key)
	}
}

// leave keeps what a stream has known for its successor, if there ever is one.
func (s *Set) leave(key dimensions.Key, stream *watching.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(stream.Known()) == 0 {
		return
	}
	if s.left == nil {
		s.left = map[dimensions.Key]map[string]watching.Meta{}
	}
	s.left[key] = stream.Known()
}

// Each calls a function for all streams, none of which ends meanwhile.
func (s *Set) Each(do func(*Stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for item := range s.items {
		do(item)
	}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, item)
}

// Stream is one resource in one namespace, as it is served: its stream, its objects,
// and the handlers of the generation that it had last.
type Stream struct {
	host      *Host
	Dimension dimensions.Dimension
	stream    *watching.Stream
	queues    *queueing.Queues
	working   context.Context // of the workers: it outlives that of the stream
	reading   context.Context // of the stream
	Processor atomic.Pointer[processing.Processor]
	Born      atomic.Uint32 // one more than the number of the generation that it began with; 0: it has not begun

	listings sync.WaitGroup // once more

	claiming sync.Mutex // guards release
	release  func()     // of the claim
}

// Serve serves one resource in one namespace until the context ends, and its
// objects until they are done with or the patience is over. While the operator
// pauses, nothing is watched; events that are queued by then are still handled.
func (o *Host) Serve(ctx context.Context, d dimensions.Dimension) {
	defer o.Completion.Listed(d.Key())
	log := o.Log.With().Str(loggers.Field, "kopf.reactor").Logger()
	path, err := d.Resource.URL(d.Namespace, "", "")
	if err != nil {
		log.Error().Err(err).Msg("a resource cannot be served")
		return
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &Stream{host: o, Dimension: d, queues: queueing.Of(o.Settings), working: working, reading: ctx}
	s.queues.Process, s.queues.Account = s.process, o.Account
	s.stream = &watching.Stream{
		Client: o.Client, Path: path, APIVersion: d.Resource.APIVersion(), Kind: d.Resource.Kind, Options: watching.Filtered(o.Settings, d.Resource),
		Log: func(level int, message string) { log.WithLevel(loggers.ZerologLevel(level)).Msg(message) }, Pace: s.queues.Hold,
	}
	o.Served.follow(d.Key(), s.stream)
	defer o.Served.leave(d.Key(), s.stream)
	s.run(ctx, cancel, log)
}

func (s *Stream) run(ctx context.Context, cancel context.CancelFunc, log zerolog.Logger) {
	o, d := s.host, s.Dimension
	log.Debug().Msg(fmt.Sprintf("Starting the watch-stream for %s %s.", d.Resource, loggers.Scope(d.Namespace)))
	item := &watching.Supervised{Stream: s.stream, Resource: d.Resource.String(), Namespace: d.Namespace, Paused: o.Pauses.IsOn}
	o.States.Supervise(ctx, item, func() {
		o.Served.add(s)
		defer o.Served.remove(s)
		gate, err := s.begin()
		if err != nil {
			o.Refuse(err)
			<-ctx.Done()
			return
		}
		sink := s.sink(gate)
		o.Pauses.Between(ctx, func(ctx context.Context) { _ = s.stream.Run(ctx, sink) }) // ends with the context only
	})
	s.listings.Wait()
	log.Debug().Msg(fmt.Sprintf("Stopping the watch-stream for %s %s.", d.Resource, loggers.Scope(d.Namespace)))
	defer s.unclaim()
	if left := s.queues.Drain(cancel, o.Settings.Queueing.ExitTimeout); left > 0 {
		log.Warn().Msg(fmt.Sprintf("Unprocessed streams left for %d objects of %s.", left, d.Resource))
	}
}

// begin takes the present handlers, and returns the gate that waits for the stream.
func (s *Stream) begin() (*indexing.Gate, error) {
	e := s.host.Generations.Hold()
	defer e.Release()
	if err := s.Reclaim(e); err != nil {
		return nil, err
	}
	s.take(e)
	s.Born.Store(e.Number + 1)
	return e.GateOf(s.Dimension), nil
}

func (s *Stream) sink(gate *indexing.Gate) *queueSink {
	return &queueSink{ctx: s.working, queues: s.queues, completion: s.host.Completion, key: s.Dimension.Key(), gate: gate}
}

// process handles an event with the present handlers.
func (s *Stream) process(ctx context.Context, it queueing.Item, q *queueing.Queue) (version string) {
	s.host.Served.Handled.Add(1)
	if it.Bodiless {
		var known bool
		if it, known = s.reread(ctx, it, q); !known {
			it.Drop()
			return ""
		}
	}
	for again := true; again; {
		version, again = s.take(s.host.Generations.Hold()).Process(ctx, it, q)
	}
	return version
}

// take makes the handlers of a generation, which the caller holds, those of the stream.
func (s *Stream) take(e *generations.Generation) *processing.Processor {
	if p := s.Processor.Load(); p != nil && p.Generation == e {
		return p
	}
	o := s.host
	p := &processing.Processor{
		Resource: s.Dimension.Resource, Generation: e, Handlers: e.Registry.ForResource(s.Dimension.Resource), Settings: o.Settings, Memories: o.Memories,
		Writer: &patching.Writer{Client: o.Client}, Runnables: o.Runnables, Completion: o.Completion, Log: o.Log, RefKey: o.RefKey,
	}
	p.Engine = &daemons.Engine{
		Handlers: p.Handlers.Spawning, Execution: p.Execution(progression.AllAtOnce, handling.ModeTemporary), Writer: p.Writer,
		Generation: e, Runnables: o.Runnables, Pauses: o.Pauses, Settings: o.Settings,
	}
	s.queues.All(len(p.Handlers.Watching) > 0)
	s.Processor.Store(p)
	return p
}

// Refresh takes the handlers of a generation that has more of them for the resource by now,
// and shows all objects to them.
func (s *Stream) Refresh(ctx context.Context, e *generations.Generation) {
	p := s.Processor.Load()
	if p == nil || p.Generation != e || e.Registry.ForResource(s.Dimension.Resource).Count() == p.Handlers.Count() {
		return
	}
	if err := s.Reclaim(e); err != nil {
		s.host.Refuse(err)
		return
	}
	s.Processor.Store(nil)
	s.take(e)
	s.Again(ctx, nil)
}

// Again shows all objects to the handlers of a generation, once more. The gate, if any,
// waits for it.
func (s *Stream) Again(ctx context.Context, gate *indexing.Gate) {
	ctx, cancel := context.WithCancel(ctx)
	end := context.AfterFunc(s.reading, cancel) //nolint:contextcheck // it ends with either
	s.listings.Go(func() {                      // Waited for by Stream.run.
		defer end()
		defer cancel()
		sink := &againSink{s.sink(gate)}
		defer sink.Listed() // whatever happens: nobody waits for ever
		if s.host.Pauses.Wait(ctx, false) == nil {
			_ = s.stream.Again(ctx, sink) // ends early with the context only
		}
	})
}

// queueSink feeds the queues of objects from a stream.
type queueSink struct {
	ctx        context.Context // of the workers: it outlives the stream
	queues     *queueing.Queues
	gate       *indexing.Gate // until the initial listing is complete; nil if nobody waits for it
	completion *completion.Completion
	key        dimensions.Key // of the stream
}

// Event queues an event. Each object of the initial listing is waited for.
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

// Listed ends the waiting for the listing itself.
func (s *queueSink) Listed() {
	s.completion.Listed(s.key)
	if s.gate != nil {
		s.gate.Done()
		s.gate = nil
	}
}

// againSink does the same for objects to which nothing has happened.
type againSink struct{ *queueSink }

// Event queues an object.
func (s *againSink) Event(event watching.Event) { s.put(queueing.Item{Event: event, Again: true}) }

// Reclaim claims what a stream is for under another generation.
func (s *Stream) Reclaim(e *generations.Generation) error {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	if s.release != nil {
		s.release()
	}
	s.release = nil
	handlers := e.Registry.ForResource(s.Dimension.Resource)
	if s.host.Claims == nil || len(handlers.Changing)+len(handlers.Spawning) == 0 {
		return nil // its handlers keep nothing on the objects
	}
	release, err := s.host.Claims.Claim(s.host.By, s.Dimension, s.host.Settings.Persistence)
	s.release = release
	return err
}

func (s *Stream) unclaim() {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	if s.release != nil {
		s.release()
	}
}
