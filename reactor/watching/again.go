package watching

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// awaiting is how often Again checks whether the stream has listed its objects.
const awaiting = 20 * time.Millisecond

// Again passes all objects to the sink once more, as listed ones, while the watch
// continues. It waits for the first listing of the stream. It repeats failed requests
// until the context ends.
//
// # Guarantees
//
//   - It passes the last state that the stream has passed. Newer states and deletions arrive
//     through the stream, after the call of Again.
//   - Its events and those of the stream come one at a time.
func (s *Stream) Again(ctx context.Context, sink Sink) error {
	for !s.Health().Synced {
		if err := backoffs.Pause(ctx, awaiting); err != nil {
			return err
		}
	}
	for pauses := (backoffs.Doubling{First: minBackoff, Most: maxBackoff}); ; {
		err := s.again(ctx, sink)
		if err == nil {
			sink.Listed()
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.Log(30, fmt.Sprintf("The objects of %s cannot be listed again, which will be repeated: %v", s.Path, err))
		if err := backoffs.Pause(ctx, pauses.Next()); err != nil {
			return err
		}
	}
}

func (s *Stream) again(ctx context.Context, sink Sink) error {
	_, err := s.pages(ctx, s.read, func() {}, func(event Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.known.has(event.Meta) {
			sink.Event(event)
		}
	})
	return err
}
