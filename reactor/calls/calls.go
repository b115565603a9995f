// Package calls makes the requests of guests: to the Kubernetes API with the operator's
// identity, and to HTTP servers. The default grants nothing. The administrator decides
// what is granted and within which limits.
//
// See abi/SPEC.md, "call".
package calls

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// Options say which requests are allowed, and how they are made. The zero value grants
// nothing.
type Options struct {
	// Served returns the patterns of the namespaces that the operator serves now; none: the whole
	// cluster. Nil: none.
	Served func() []string

	Grants Grants

	// Confined means that servers need public addresses, but those of Private: the author of a grant
	// may not be allowed to let this process ask private servers, such as others of the cluster,
	// whose network policies trust it.
	Confined bool
	Private  []Host

	// Timeout limits one request including its response; a guest may ask for less. Default:
	// one minute.
	Timeout time.Duration

	// InFlight limits concurrent requests. Further requests wait; the wait does not count
	// towards Timeout. Default: 64.
	InFlight int

	// UserAgent is the user agent of requests to HTTP servers, unless the guest sets one.
	// Default: "kopf".
	UserAgent string

	// FieldManager owns the fields that guests write, unless they name another manager.
	// Default: the name that the API server derives from the operator's user agent.
	FieldManager string

	// Rate limits requests per second; further requests wait. A new connection to an HTTP server counts as nine more. Default: DefaultRate.
	Rate clients.Rate

	// Egress limits the bytes of requests: method, path or URL, headers and body, each
	// redirect again. Further requests wait, at most for Timeout. Default: DefaultEgress.
	Egress clients.Rate

	// MaxRequest and MaxResponse limit the bodies, in bytes. MaxResponse applies after
	// decompression. Defaults: 4 MiB.
	MaxRequest, MaxResponse int

	// Withhold is called for each request to an HTTP server that may change something, in place
	// of sending it. The guest gets the error CallReadOnly. Nil: all requests are sent.
	Withhold func(method, url string, body []byte)

	// Compute runs what the host computes for bodies of requests and responses, as computing time of the operator. Nil: it does not
	// count.
	Compute func(ctx context.Context, do func())

	// TLS is used for connections to HTTP servers, not for the cluster. Default (nil): the
	// system's certificate authorities, no client certificate.
	TLS *tls.Config
}

// DefaultRate is the default of Options.Rate. The burst allows two requests for each of
// 2,500 objects. The rate is what a server on usual hardware sustains for one client.
var DefaultRate = clients.Rate{PerSecond: 500, Burst: 5000}

// Caller makes the requests of one operator's guests. It is safe for concurrent use.
type Caller struct {
	options Options
	client  func() *clients.Client
	web     *http.Client
	slots   chan struct{}
	bucket  *rate.Limiter
	delayed *atomic.Uint64
	egress  *egress
	effort  int // of a comparison with the granted namespaces
}

// New makes a caller. The client function returns the operator's client, or nil before the login.
func New(o Options, client func() *clients.Client) *Caller {
	o.UserAgent = cmp.Or(o.UserAgent, clients.UserAgent("", ""))
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.InFlight = cmp.Or(o.InFlight, 64)
	o.MaxRequest = cmp.Or(o.MaxRequest, 4<<20)
	o.MaxResponse = cmp.Or(o.MaxResponse, 4<<20)
	if o.Served == nil {
		o.Served = func() []string { return nil }
	}
	c := &Caller{options: o, client: client, slots: make(chan struct{}, o.InFlight), bucket: o.Rate.Or(DefaultRate).Limiter(), delayed: &atomic.Uint64{}}
	c.egress = newEgress(o.Egress, o.Timeout)
	for _, rule := range c.options.Grants.Kubernetes {
		c.effort += rule.effort()
	}
	c.web = c.newWebClient()
	return c
}

// Unconnected returns a caller with the same grants, but without access to Kubernetes and
// with its own slots. Login handlers use it, because requests to Kubernetes wait for them.
func (c *Caller) Unconnected() *Caller {
	own := *c
	own.client, own.slots = func() *clients.Client { return nil }, make(chan struct{}, c.options.InFlight)
	return &own
}

// Close closes idle connections.
func (c *Caller) Close() { c.web.CloseIdleConnections() }

// Call makes a request. A readOnly that is not empty is the reason why writing is
// forbidden. The answer has either a response or an error. The lease grows by what arrives of the response, also if there is an error
// then; nil: it is not counted.
func (c *Caller) Call(ctx context.Context, call *abi.Call, readOnly string, held *accounts.Lease) abi.Answer {
	rsp, err := c.call(ctx, call, readOnly, held)
	if err != nil {
		return abi.Answer{Error: wireError(ctx, err)}
	}
	return abi.Answer{Response: rsp}
}

func (c *Caller) call(ctx context.Context, call *abi.Call, readOnly string, held *accounts.Lease) (*abi.Response, error) {
	var prepare func(*abi.Call, []byte) (request, error)
	switch call.Target {
	case abi.TargetKubernetes:
		prepare = c.toKubernetes
	case abi.TargetHTTP:
		prepare = c.toWeb
	default:
		return nil, invalid("the target of a call must be %s or %s, not %q", abi.TargetKubernetes, abi.TargetHTTP, shown(call.Target))
	}
	if call.Timeout != nil && !(*call.Timeout > 0) {
		return nil, invalid("a timeout of %v seconds", *call.Timeout)
	}
	if readOnly != "" && !isReading(call.Method) {
		return nil, &refusal{abi.CallReadOnly, fmt.Sprintf("%s %s is refused: %s", shown(call.Method), shown(call.Path), readOnly)}
	}
	if head := len(call.Path) + sizeOf(call.Headers); head > maxHead {
		return nil, &refusal{abi.CallTooLarge, fmt.Sprintf("the URL and the headers have %d bytes, and at most %d can be sent", head, maxHead)}
	}
	var body []byte
	var send request
	var err error
	c.compute(ctx, len(call.Body)+c.effort, func() { // of requests that are not granted, too, which have no rate
		if body, err = bodyOf(call, c.options.MaxRequest); err == nil {
			send, err = prepare(call, body)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := c.admit(ctx, 1); err != nil {
		return nil, err
	}
	if err := c.egress.admit(ctx, call, len(body)); err != nil {
		return nil, err
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return c.exchange(ctx, call, send, held)
}

// leastWork is the size of a body from which on decoding or encoding it is a part of the computing time of the operator, in bytes, and the
// effort from which on comparing namespaces is.
const leastWork = 4 << 10

// compute runs a function that only computes, for a body of a size that guests or servers choose.
func (c *Caller) compute(ctx context.Context, size int, do func()) {
	if c.options.Compute == nil || size < leastWork {
		do()
		return
	}
	c.options.Compute(ctx, do)
}

// maxHead bounds the URL and the headers of a request, in bytes. Those of responses have the same bound.
const maxHead = 64 << 10

// admit waits until the rate limit allows more requests.
func (c *Caller) admit(ctx context.Context, requests int) error {
	requests = min(requests, c.bucket.Burst())
	if c.bucket.AllowN(time.Now(), requests) {
		return nil
	}
	c.delayed.Add(1)
	return c.bucket.WaitN(ctx, requests)
}

// Delayed returns how many requests have waited for Options.Rate so far.
func (c *Caller) Delayed() uint64 { return c.delayed.Load() }

// EgressDelayed returns how many requests Options.Egress has let wait, or refused, so far.
func (c *Caller) EgressDelayed() uint64 { return c.egress.delayed.Load() }

// request sends a request that was checked against the grants.
type request func(ctx context.Context) (*http.Response, error)

// errTime is the cause of a context that ends a request after its timeout.
var errTime = errors.New("no answer in time")

func (c *Caller) exchange(ctx context.Context, call *abi.Call, send request, held *accounts.Lease) (*abi.Response, error) {
	limit := c.options.Timeout
	if asked := call.Timeout; asked != nil && *asked < limit.Seconds() {
		limit = time.Duration(*asked * float64(time.Second))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTime)
	defer cancel()
	rsp, err := send(ctx)
	if err != nil {
		return nil, timedOut(ctx, call, limit, err)
	}
	defer rsp.Body.Close()
	answer, err := c.readResponse(ctx, call, rsp, held)
	if err != nil {
		return nil, timedOut(ctx, call, limit, err)
	}
	return answer, nil
}

func timedOut(ctx context.Context, call *abi.Call, limit time.Duration, err error) error {
	if errors.Is(context.Cause(ctx), errTime) {
		return &refusal{abi.CallTimeout, fmt.Sprintf("%s %s: no answer within %v", call.Method, shown(call.Path), limit)}
	}
	return err
}

// isReading reports whether a method changes nothing.
func isReading(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// shownLimit limits how much of a guest's text a message shows.
const shownLimit = 200

func shown(text string) string { return legible.Clip(text, shownLimit) }
