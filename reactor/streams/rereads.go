package streams

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// maxRereadDelay limits the pauses between attempts to read a body again.
const maxRereadDelay = time.Minute

// crowdedDelay is when an event asks again whether there is room for its body.
const crowdedDelay = 10 * time.Second

// preindex indexes an object for which the gate of the indices waits, though there is no room for its body, and waits for the gate. The
// bodies that take the room wait for it, too, so none would get room before.
func (s *Stream) preindex(ctx context.Context, it queueing.Item, q *queueing.Queue) {
	if read, known := s.reread(ctx, it, q); known {
		read.Standby = true
		s.take(s.common.Generations.Hold()).Process(ctx, read, q)
	}
	it.Drop()
	gate := s.common.Generations.Present().Indexed
	_ = q.Unhurried(ctx, gate.IsOpen(), gate.Wait) // whatever ends the wait: the caller reads the object again, and looks at the context
}

// admit reads the body of an event that has waited without it, once the account has room
// for it. It returns false if the event is obsolete. The caller gives the room back.
func (s *Stream) admit(ctx context.Context, it queueing.Item, q *queueing.Queue) (read queueing.Item, known bool) {
	if it.Indexed != nil {
		s.preindex(ctx, it, q)
		if it.Indexed = nil; it.Standby {
			return it, false // that was all
		}
	}
	for it.Bodiless {
		if it, known = s.reread(ctx, it, q); !known || it.Type == watching.Deleted { // the body of a deletion is only an identity
			return it, known
		}
		size := len(it.Object)
		q.Charge(&it)
		for it.Bodiless && !q.HasRoom(size) { // only then is it worth another request
			if s.rest(ctx, it, q, crowdedDelay) {
				return it, false
			}
		}
	}
	return it, true
}

// reread reads the body of an event that has waited without it; see queueing.Queues. It
// returns false if the event is obsolete: the object is gone, or newer events of it wait.
func (s *Stream) reread(ctx context.Context, it queueing.Item, q *queueing.Queue) (read queueing.Item, known bool) {
	it.Bodiless = false
	if it.Type == watching.Deleted {
		it.Object = watching.Vanished(s.Dimension.Resource.APIVersion(), s.Dimension.Resource.Kind, it.Meta).Object
		return it, true
	}
	s.common.Memories.Notice(it.Meta.Key(), it.Type == watching.Listed || it.Early) // even if newer events are handled instead
	for delays := (backoffs.Doubling{First: time.Second, Most: maxRereadDelay}); ; {
		raw, meta, err := s.current(ctx, it.Meta, q)
		code, _ := clients.Code(err)
		switch {
		case err == nil && meta.Key() == it.Meta.Key():
			it.Object, it.Meta, it.ConsistentAt = raw, meta, time.Time{}
			return it, true
		case err == nil || code == http.StatusNotFound: // the deletion arrives as its own event
			s.common.Completion.Done(it.Meta.Key())
			return it, false
		case ctx.Err() != nil:
			return it, false
		}
		s.common.log().Warn().Err(err).Str("uid", it.Meta.UID).Msg("the body of an object that has waited cannot be read again; retrying")
		if s.rest(ctx, it, q, delays.Next()) {
			return it, false
		}
	}
}

// rest waits before an event is tried again. It returns true at once if the event is obsolete, because newer ones of the object
// wait. One of an object that the replica gains never is: the watch is late, so the newer ones can be older than the listing.
func (s *Stream) rest(ctx context.Context, it queueing.Item, q *queueing.Queue, d time.Duration) (obsolete bool) {
	if it.Gained == 0 {
		return q.Sleep(ctx, d) > 0
	}
	q.Leave(ctx)
	select {
	case <-time.After(d):
		return false
	case <-s.reading.Done():
	case <-ctx.Done():
	}
	return true
}

// current reads the current object.
func (s *Stream) current(ctx context.Context, meta watching.Meta, q *queueing.Queue) (raw []byte, now watching.Meta, err error) {
	path, err := s.Dimension.Resource.URL(meta.Namespace, meta.Name, "")
	if err != nil {
		return nil, watching.Meta{}, err
	}
	if raw, err = s.common.Client.GetWith(ctx, path, clients.Hooks{Sent: q.Rest}); err != nil {
		return nil, watching.Meta{}, fmt.Errorf("%s: %w", path, err)
	}
	now, err = watching.MetaOf(raw)
	return raw, now, err
}
