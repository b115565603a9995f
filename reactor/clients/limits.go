package clients

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Rate limits how often something may happen: Burst times at once, and then PerSecond
// times a second. Zero fields take the values of a default.
type Rate struct {
	PerSecond, Burst int

	Bucket *Bucket // keeps what is used; nil: it begins full with each client
}

// Bucket keeps what is used of a rate, for clients that follow each other. The zero Bucket is full. It is safe for concurrent use.
type Bucket struct {
	mu      sync.Mutex    // guards limiter
	limiter *rate.Limiter // nil: full
}

// Limits bound the requests of one client, regardless of what its guests do. Zero fields
// are those of DefaultLimits.
type Limits struct {
	Requests Rate // all requests; further requests wait
	Events   Rate // posted Kubernetes events, which also count as requests; further events wait
}

// DefaultLimits exceed what an API server on usual hardware sustains for one client, so
// they stop only runaway loops. The burst covers a restart with 10,000 objects that are
// each patched twice.
var DefaultLimits = Limits{
	Requests: Rate{PerSecond: 2000, Burst: 20_000},
	Events:   Rate{PerSecond: 100, Burst: 1000},
}

// Or replaces zero fields by those of other.
func (r Rate) Or(other Rate) Rate {
	return Rate{cmp.Or(r.PerSecond, other.PerSecond), cmp.Or(r.Burst, other.Burst), cmp.Or(r.Bucket, other.Bucket)}
}

// Limiter makes a token bucket for the rate, or changes the kept one to the rate.
func (r Rate) Limiter() *rate.Limiter {
	if r.Bucket == nil {
		return rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)
	}
	b := r.Bucket
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limiter == nil {
		b.limiter = rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)
	}
	b.limiter.SetLimit(rate.Limit(r.PerSecond))
	b.limiter.SetBurst(r.Burst)
	return b.limiter
}

// MaxWrites and MaxEvents limit concurrent patches and events, and so their connections. A
// higher number does not make the API server faster, but increases the latency of all
// requests.
const (
	MaxWrites = 16
	MaxEvents = 16
)

// class is a class of requests with its own limits and rules.
type class struct {
	slots   chan struct{}    // limits concurrent requests; nil: no limit
	bucket  *rate.Limiter    // applies in addition to the limit of all requests; nil: none
	delayed *atomic.Uint64   // how often the bucket made a request wait; nil without a bucket
	retried func(error) bool // reports whether an error justifies another attempt
}

// enter waits until one attempt may start.
func (c class) enter(ctx context.Context) (leave func(), err error) {
	if c.bucket != nil && !c.bucket.Allow() {
		c.delayed.Add(1)
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

// admit waits until the rate limit allows one more request.
func (c *Client) admit(ctx context.Context) error {
	if c.requests.Allow() {
		return nil
	}
	c.delayed.Add(1)
	return c.requests.Wait(ctx)
}

// EventsDelayed returns how many events have waited for Limits.Events so far.
func (c *Client) EventsDelayed() uint64 { return c.events.delayed.Load() }

// Delayed returns how many requests have waited for Limits.Requests so far.
func (c *Client) Delayed() uint64 { return c.delayed.Load() }
