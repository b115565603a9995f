package crossings

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/kopf-wasm/kopf/host"
)

// Surrounded returns a context for loading modules whose messages are those of the call 0. The
// modules need host.Options.Surrounded.
func (b *Border) Surrounded(ctx context.Context) context.Context {
	return host.WithSurroundings(ctx, surroundings{&side{border: b}})
}

// surroundings are the real ones, and show what they answer.
type surroundings struct{ *side }

// Now implements host.Surroundings.
func (s surroundings) Now(present time.Time) time.Time {
	s.see(Now{present})
	return present
}

// Random implements host.Surroundings.
func (s surroundings) Random(buf []byte) {
	rand.Read(buf) // never fails, see its documentation
	s.see(Random{buf})
}

// Sleep implements host.Surroundings.
func (s surroundings) Sleep(sleep func() (time.Duration, bool)) (slept time.Duration, early bool) {
	slept, early = sleep()
	s.see(Sleep{slept, early})
	return slept, early
}
