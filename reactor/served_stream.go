package reactor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// streamHost is what the streams of one operator share.
type streamHost struct {
	generations *generations
	settings    *settings.Settings
	client      *clients.Client
	account     *accounts.Account
	memories    *memories
	runnables   *runnables
	completion  *completion
	pauses      *pauses
	served      *servedStreams
	states      *watching.Set
	claims      *Claims // nil: no other operator is looked for
	by          claimant
	log         zerolog.Logger
	refKey      string          // the field of the object's reference in log lines
	refuse      func(err error) // ends the operator
}

// servedStreams are the streams of objects that run. The zero value is empty.
type servedStreams struct {
	handled atomic.Uint64 // events of objects

	mu    sync.Mutex // guards items
	items map[*servedStream]bool
}

// each calls a function for all streams, none of which ends meanwhile.
func (s *servedStreams) each(do func(*servedStream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for item := range s.items {
		do(item)
	}
}

func (s *servedStreams) add(item *servedStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = map[*servedStream]bool{}
	}
	s.items[item] = true
}

func (s *servedStreams) remove(item *servedStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, item)
}

// servedStream is one resource in one namespace, as it is served: its stream, its objects,
// and the handlers of the generation that it had last.
type servedStream struct {
	host      *streamHost
	dimension dimension
	stream    *watching.Stream
	queues    *queues
	working   context.Context // of the workers: it outlives that of the stream
	reading   context.Context // of the stream
	processor atomic.Pointer[processor]
	born      atomic.Uint32 // one more than the number of the generation that it began with; 0: it has not begun

	listings sync.WaitGroup // once more

	claiming sync.Mutex // guards release
	release  func()     // of the claim
}

// serve serves one resource in one namespace until the context ends, and its
// objects until they are done with or the patience is over. While the operator
// pauses, nothing is watched; events that are queued by then are still handled.
func (o *streamHost) serve(ctx context.Context, d dimension) {
	defer o.completion.listed(d.key())
	log := o.log.With().Str(LoggerField, "kopf.reactor").Logger()
	path, err := d.resource.URL(d.namespace, "", "")
	if err != nil {
		log.Error().Err(err).Msg("a resource cannot be served")
		return
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &servedStream{host: o, dimension: d, queues: newQueuesOf(o.settings), working: working, reading: ctx}
	s.queues.process, s.queues.account = s.process, o.account
	s.stream = &watching.Stream{
		Client: o.client, Path: path, APIVersion: d.resource.APIVersion(), Kind: d.resource.Kind, Options: filtered(o.settings, d.resource),
		Log: func(level int, message string) { log.WithLevel(levelOf(level)).Msg(message) }, Pace: s.queues.hold,
	}
	s.run(ctx, cancel, log)
}

func (s *servedStream) run(ctx context.Context, cancel context.CancelFunc, log zerolog.Logger) {
	o, d := s.host, s.dimension
	log.Debug().Msg(fmt.Sprintf("Starting the watch-stream for %s %s.", d.resource, scopeOf(d.namespace)))
	item := &watching.Supervised{Stream: s.stream, Resource: d.resource.String(), Namespace: d.namespace, Paused: o.pauses.isOn}
	o.states.Supervise(ctx, item, func() {
		o.served.add(s)
		defer o.served.remove(s)
		gate, err := s.begin()
		if err != nil {
			o.refuse(err)
			<-ctx.Done()
			return
		}
		sink := s.sink(gate)
		o.pauses.between(ctx, func(ctx context.Context) { _ = s.stream.Run(ctx, sink) }) // ends with the context only
	})
	s.listings.Wait()
	log.Debug().Msg(fmt.Sprintf("Stopping the watch-stream for %s %s.", d.resource, scopeOf(d.namespace)))
	defer s.unclaim()
	if left := s.queues.drain(cancel, o.settings.Queueing.ExitTimeout); left > 0 {
		log.Warn().Msg(fmt.Sprintf("Unprocessed streams left for %d objects of %s.", left, d.resource))
	}
}

// begin takes the present handlers, and returns the gate that waits for the stream.
func (s *servedStream) begin() (*gate, error) {
	e := s.host.generations.hold()
	defer e.release()
	if err := s.reclaim(e); err != nil {
		return nil, err
	}
	s.take(e)
	s.born.Store(e.number + 1)
	return e.gateOf(s.dimension), nil
}

func (s *servedStream) sink(gate *gate) *queueSink {
	return &queueSink{ctx: s.working, queues: s.queues, completion: s.host.completion, key: s.dimension.key(), gate: gate}
}

// process handles an event with the present handlers.
func (s *servedStream) process(ctx context.Context, it item, q *queue) (version string) {
	s.host.served.handled.Add(1)
	if it.bodiless {
		var known bool
		if it, known = s.reread(ctx, it, q); !known {
			it.drop()
			return ""
		}
	}
	for again := true; again; {
		version, again = s.take(s.host.generations.hold()).process(ctx, it, q)
	}
	return version
}

// take makes the handlers of a generation, which the caller holds, those of the stream.
func (s *servedStream) take(e *generation) *processor {
	if p := s.processor.Load(); p != nil && p.generation == e {
		return p
	}
	o := s.host
	p := &processor{
		resource: s.dimension.resource, generation: e, handlers: e.registry.forResource(s.dimension.resource), settings: o.settings, memories: o.memories,
		writer: &writer{client: o.client}, runnables: o.runnables, completion: o.completion, log: o.log, refKey: o.refKey,
	}
	p.engine = &engine{
		handlers: p.handlers.spawning, execution: p.execution(progression.AllAtOnce, modeTemporary), writer: p.writer,
		generation: e, runnables: o.runnables, pauses: o.pauses, settings: o.settings,
	}
	s.queues.all(len(p.handlers.watching) > 0)
	s.processor.Store(p)
	return p
}

// refresh takes the handlers of a generation that has more of them for the resource by now,
// and shows all objects to them.
func (s *servedStream) refresh(ctx context.Context, e *generation) {
	p := s.processor.Load()
	if p == nil || p.generation != e || e.registry.forResource(s.dimension.resource).count() == p.handlers.count() {
		return
	}
	if err := s.reclaim(e); err != nil {
		s.host.refuse(err)
		return
	}
	s.processor.Store(nil)
	s.take(e)
	s.again(ctx, nil)
}

// again shows all objects to the handlers of a generation, once more. The gate, if any,
// waits for it.
func (s *servedStream) again(ctx context.Context, gate *gate) {
	ctx, cancel := context.WithCancel(ctx)
	end := context.AfterFunc(s.reading, cancel) //nolint:contextcheck // it ends with either
	s.listings.Go(func() {                      // Waited for by servedStream.run.
		defer end()
		defer cancel()
		sink := &againSink{s.sink(gate)}
		defer sink.Listed() // whatever happens: nobody waits for ever
		if s.host.pauses.wait(ctx, false) == nil {
			_ = s.stream.Again(ctx, sink) // ends early with the context only
		}
	})
}

// queueSink feeds the queues of objects from a stream.
type queueSink struct {
	ctx        context.Context // of the workers: it outlives the stream
	queues     *queues
	gate       *gate // until the initial listing is complete; nil if nobody waits for it
	completion *completion
	key        dimensionKey // of the stream
}

// Event queues an event. Each object of the initial listing is waited for.
func (s *queueSink) Event(event watching.Event) {
	if event.Type == watching.Listed {
		s.completion.add(event.Meta.Key())
	}
	s.put(item{Event: event})
}

func (s *queueSink) put(it item) {
	if s.gate != nil && it.Type == watching.Listed && s.gate.add() {
		it.indexed = sync.OnceFunc(s.gate.done)
	}
	s.queues.put(s.ctx, it)
}

// Listed ends the waiting for the listing itself.
func (s *queueSink) Listed() {
	s.completion.listed(s.key)
	if s.gate != nil {
		s.gate.done()
		s.gate = nil
	}
}

// againSink does the same for objects to which nothing has happened.
type againSink struct{ *queueSink }

// Event queues an object.
func (s *againSink) Event(event watching.Event) { s.put(item{Event: event, again: true}) }

// reclaim claims what a stream is for under another generation.
func (s *servedStream) reclaim(e *generation) error {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	if s.release != nil {
		s.release()
	}
	s.release = nil
	handlers := e.registry.forResource(s.dimension.resource)
	if s.host.claims == nil || len(handlers.changing)+len(handlers.spawning) == 0 {
		return nil // its handlers keep nothing on the objects
	}
	release, err := s.host.claims.claim(s.host.by, s.dimension, s.host.settings.Persistence)
	s.release = release
	return err
}

func (s *servedStream) unclaim() {
	s.claiming.Lock()
	defer s.claiming.Unlock()
	if s.release != nil {
		s.release()
	}
}
