package clients

import (
	"cmp"
	"context"

	"golang.org/x/time/rate"
)

// Rate bounds how often something is done: so many times at once, and then so many times a
// second. Absent numbers are those of a default.
type Rate struct{ PerSecond, Burst int }

// Limits bound the requests of one client, whatever its guests do. Absent ones are
// DefaultLimits.
type Limits struct {
	Requests Rate // all requests; more of them wait
	Events   Rate // Kubernetes events that are posted, which are requests, too; more of them wait
}

// DefaultLimits are above what an API server on usual hardware takes from one client for
// long, so that they only stop what has no end. A restart of an operator for 10,000 objects
// that are all patched twice stays within the burst.
var DefaultLimits = Limits{
	Requests: Rate{PerSecond: 2000, Burst: 20_000},
	Events:   Rate{PerSecond: 100, Burst: 1000},
}

// Or takes absent numbers from a default.
func (r Rate) Or(other Rate) Rate {
	return Rate{cmp.Or(r.PerSecond, other.PerSecond), cmp.Or(r.Burst, other.Burst)}
}

// Limiter makes a token bucket of the rate.
func (r Rate) Limiter() *rate.Limiter { return rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst) }

// MaxWrites and MaxEvents limit the patches, and the events that are posted, which are in
// flight, and so their connections. More of them do not make the API server faster, but make
// everybody wait longer.
const (
	MaxWrites = 16
	MaxEvents = 16
)

// class is a kind of requests with bounds and rules of its own.
type class struct {
	slots   chan struct{}    // nil: no bound of those in flight
	bucket  *rate.Limiter    // besides that of all requests; nil: none
	retried func(error) bool // whether an error is worth another attempt
}

// enter waits for the turn of one attempt.
func (c class) enter(ctx context.Context) (leave func(), err error) {
	if c.bucket != nil {
		if err := c.bucket.Wait(ctx); err != nil {
			return nil, err
		}
	}
	if c.slots == nil {
		return func() {}, nil
	}
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// admit waits until one more request may be sent.
func (c *Client) admit(ctx context.Context) error {
	if c.requests.Allow() {
		return nil
	}
	c.delayed.Add(1)
	return c.requests.Wait(ctx)
}

// Delayed is how many requests had to wait for Limits.Requests so far.
func (c *Client) Delayed() uint64 { return c.delayed.Load() }
