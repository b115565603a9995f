package stoppers

import "context"

// forceKey finds in a context what ends all work by force.
type forceKey struct{}

// WithForce returns a context, and a function that ends by force what AfterForce knows of the context or of those that are derived from
// it: guests choose how long a graceful end takes.
func WithForce(ctx context.Context) (own context.Context, force func()) {
	late, force := context.WithCancel(context.WithoutCancel(ctx))
	return context.WithValue(ctx, forceKey{}, late), force
}

// AfterForce calls a function on another goroutine when the end is forced, unless it is stopped before. Without WithForce, no end is.
func AfterForce(ctx context.Context, kill func()) (stop func() bool) {
	late, ok := ctx.Value(forceKey{}).(context.Context)
	if !ok {
		return func() bool { return true }
	}
	return context.AfterFunc(late, kill) //nolint:contextcheck // late is the context of the forced end: it outlives ctx
}
