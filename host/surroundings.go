package host

import (
	"context"
	"time"
)

// Surroundings are what a guest sees of the world, except for what the reactor answers: the
// clock, random numbers, and how its own sleeps end. With equal Surroundings and equal answers,
// a guest does the same again. Methods run on the goroutine of the call.
type Surroundings interface {
	// Now returns the time of a guest's clock from the present time.
	Now(present time.Time) time.Time

	// Random fills a buffer with random bytes.
	Random(buf []byte)

	// Sleep sleeps by its argument, or only says how a sleep ended.
	Sleep(sleep func() (slept time.Duration, early bool)) (slept time.Duration, early bool)
}

// surroundingsKey finds the Surroundings in a context.
type surroundingsKey struct{}

// WithSurroundings returns a context for calls and for Load whose guest sees the Surroundings.
// They only have an effect with Options.Surrounded.
func WithSurroundings(ctx context.Context, s Surroundings) context.Context {
	return context.WithValue(ctx, surroundingsKey{}, s)
}

// surroundings returns the Surroundings of a context; nil if there are none.
func (m *Module) surroundings(ctx context.Context) Surroundings {
	if !m.options.Surrounded {
		return nil
	}
	s, _ := ctx.Value(surroundingsKey{}).(Surroundings)
	return s
}

// guestTime returns the time that the guest sees.
func (c *call) guestTime(present time.Time) time.Time {
	if c.around == nil {
		return present
	}
	return c.around.Now(present)
}
