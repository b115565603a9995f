package streams

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kopf-wasm/kopf/reactor/membership"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// share is what a stream does so that each object is handled by one of several replicas. All events pass through it on the
// worker of the object, so an object is never taken while it is released. A nil share handles all objects.
//
// An object that the replica gains must not be handled in a state that is older than the last patch of its former owner. The
// watch may be late, so the objects are listed after the replica was allowed to handle them. Older events only fill the indices.
type share struct {
	*Stream
	holdings *membership.Holdings

	mu      sync.Mutex // guards the fields below
	epoch   uint64     // in which all objects were listed last; 0: they never were
	version string     // of that listing
	listed  chan struct{}
}

// newShare makes the share of a stream; nil if all objects belong to this replica.
func newShare(s *Stream) *share {
	if s.common.Holdings == nil {
		return nil
	}
	return &share{Stream: s, holdings: s.common.Holdings, listed: make(chan struct{})}
}

// start lists the objects whenever this replica may handle more of them, until the context ends.
func (s *share) start(ctx context.Context) {
	if s == nil {
		return
	}
	s.listings.Add(1) // Stream.end waits for it.
	go s.follow(ctx)
}

// follow lists the objects of the present epoch, and has itself called for the next one.
func (s *share) follow(ctx context.Context) {
	epoch, grown := s.holdings.Epoch()
	if epoch > 0 {
		_ = s.list(ctx, epoch) // it fails with the context only
	}
	if ctx.Err() != nil {
		s.listings.Done()
		return
	}
	grown.Then(ctx, func() { s.follow(ctx) })
}

// list queues the objects that this replica may take in an epoch.
func (s *share) list(ctx context.Context, epoch uint64) error {
	version, err := s.watch.Present(ctx, func(event watching.Event, current bool) {
		if state, _ := s.holdings.State(event.Meta.Key()); state == membership.Held || state == membership.Foreign {
			return
		}
		it := queueing.Item{Event: event, Gained: epoch}
		if !current { // the watch is late or ahead: the object is read when it is its turn
			it.Object, it.Bodiless = nil, true
		}
		s.queues.Put(s.working, it)
	})
	if err != nil {
		return err // of the context
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch, s.version = epoch, version
	close(s.listed)
	s.listed = make(chan struct{})
	return nil
}

// giveUp gives up the objects of a stream that has ended, unless the operator exits: its exit ends all work.
func (s *share) giveUp(ctx context.Context) {
	if s == nil || s.common.Runnables.IsClosed() {
		return
	}
	for _, key := range s.holdings.In(s) {
		s.letGo(ctx, key)
	}
}

// Release implements membership.Place: the worker of the object ends the work.
func (s *share) Release(key string) {
	s.queues.Put(s.working, queueing.Item{Event: watching.Event{Meta: watching.Meta{UID: key}}, Lost: true})
}

// letGo ends the work on an object.
func (s *share) letGo(ctx context.Context, key string) {
	e := s.common.Generations.Hold()
	defer e.Release()
	s.take(e).LetGo(ctx, key)
	s.holdings.Released(key)
}

// sort decides what an event means for this replica. It returns false if nothing is to be done.
func (s *share) sort(ctx context.Context, it queueing.Item, q *queueing.Queue) (queueing.Item, bool) {
	if s == nil {
		return it, true
	}
	for {
		state, least := s.holdings.State(it.Meta.Key())
		switch {
		case state == membership.Losing:
			q.Leave(ctx)
			s.letGo(ctx, it.Meta.Key())
		case it.Lost:
			return it, false
		case state == membership.Held:
			return it, it.Gained == 0 && (it.Again || it.Type == watching.Deleted || ageOf(it, least) != old)
		case state == membership.Foreign || it.Type == watching.Deleted:
			return s.indexed(it)
		case it.Gained > 0:
			return it, true
		default:
			age, known := s.age(ctx, it, q)
			switch {
			case ctx.Err() != nil, !known && s.reading.Err() != nil:
				return it, false
			case !known:
			case age == old:
				return s.indexed(it)
			case age == unclear:
				it.Object, it.Bodiless = nil, true
				return it, true
			default:
				return it, true
			}
		}
	}
}

// indexed is an event of an object that this replica does not handle.
func (s *share) indexed(it queueing.Item) (queueing.Item, bool) {
	it.Standby = true
	if it.Type == watching.Deleted || it.Gained > 0 {
		return it, it.Gained == 0
	}
	e := s.common.Generations.Hold()
	defer e.Release()
	return it, len(s.take(e).Handlers.Indexing) > 0
}

// age compares an event with the listing in which this replica would have taken the object. If there was no such listing yet, it
// waits for one, or for the end of the stream, and the result is not known.
func (s *share) age(ctx context.Context, it queueing.Item, q *queueing.Queue) (a age, known bool) {
	epoch, _ := s.holdings.Epoch()
	s.mu.Lock()
	last, version, listed := s.epoch, s.version, s.listed
	s.mu.Unlock()
	if last == epoch {
		return ageOf(it, version), true
	}
	_ = q.Unhurried(ctx, false, func(ctx context.Context) error { // the caller checks the context
		select {
		case <-listed:
			return nil
		case <-s.reading.Done(): // no listing follows
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return unclear, false
}

// age is the age of an event, compared with a version.
type age int

const (
	fresh   age = iota
	old         // or of the same age
	unclear     // the versions cannot be compared
)

func ageOf(it queueing.Item, version string) age {
	order, err := resourceversion.CompareResourceVersion(it.Meta.ResourceVersion, version)
	switch {
	case err != nil:
		return unclear
	case order <= 0:
		return old
	}
	return fresh
}

// hold begins to hold the object of an event that this replica may handle. It returns false if nothing is to be done.
func (s *share) hold(it queueing.Item) (queueing.Item, bool) {
	if s == nil || it.Standby {
		return it, true
	}
	key := it.Meta.Key()
	if state, _ := s.holdings.State(key); state == membership.Held || state == membership.Losing {
		return it, true
	}
	epoch, least := it.Gained, it.Meta.ResourceVersion
	if epoch == 0 {
		s.mu.Lock()
		epoch, least = s.epoch, ""
		s.mu.Unlock()
	}
	if s.holdings.Take(key, s, epoch, least, it.Gained > 0) {
		return it, true
	}
	return s.indexed(it) // if it is gained again, it is listed again
}

// isLosing reports whether the object of an event must not be handled any longer.
func (s *share) isLosing(it queueing.Item) bool {
	if s == nil || it.Standby {
		return false
	}
	state, _ := s.holdings.State(it.Meta.Key())
	return state != membership.Held
}

// handled ends the hold of an object that is gone.
func (s *share) handled(it queueing.Item) {
	if s != nil && it.Type == watching.Deleted {
		s.holdings.Released(it.Meta.Key())
	}
}
