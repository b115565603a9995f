package watching

import (
	"context"
	"fmt"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// Again passes all objects to the sink once more, as listed ones, while the watch
// continues. It waits for the first listing of the stream with its present interest. It
// repeats failed requests until the context ends.
//
// # Guarantees
//
//   - It passes the last state that the stream has passed. Newer states and deletions arrive
//     through the stream, after the call of Again.
//   - Its events and those of the stream come one at a time.
func (s *Stream) Again(ctx context.Context, sink Sink) error {
	_, err := s.Present(ctx, func(event Event, current bool) {
		if current {
			sink.Event(event)
		}
	})
	if err == nil {
		sink.Listed()
	}
	return err
}

// Present passes all objects that exist after it was called, as listed ones, while the watch continues, and returns the version
// of the listing. It leaves out objects that do not concern the stream. It waits for the first listing of the stream with its
// present interest, and repeats failed requests until the context ends.
//
// # Guarantees
//
//   - A state that is current is the last one that the stream has passed. Otherwise the stream will pass it, or has already
//     passed a newer one or the deletion.
//   - Its events and those of the stream come one at a time.
func (s *Stream) Present(ctx context.Context, take func(event Event, current bool)) (version string, err error) {
	for settled := s.unlessSettled(); settled != nil; settled = s.unlessSettled() {
		select {
		case <-settled:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	for pauses := (backoffs.Doubling{First: minBackoff, Most: maxBackoff}); ; {
		version, err := s.pages(ctx, s.read, func() {}, func(event Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.concerns(&event) {
				take(event, s.known.has(event.Meta))
			}
		})
		if err == nil {
			return version, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		s.Log(abi.LevelWarning, fmt.Sprintf("The objects of %s cannot be listed again, which will be repeated: %v", s.Path, err))
		if err := backoffs.Pause(ctx, pauses.Next()); err != nil {
			return "", err
		}
	}
}
