// Package clients makes the API requests of the reactor, with Kopf's retries. Bodies are
// raw bytes in both directions; objects are not decoded here. client-go provides
// configuration, credentials, transports and error types.
//
// Kopf: kopf._cogs.clients (v1.45).
package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// These are the content types of patches.
const (
	MergePatch = "application/merge-patch+json"
	JSONPatch  = "application/json-patch+json"
)

// Options are the settings that concern requests. They may change while the operator runs,
// so the client gets them from a function.
type Options struct {
	// RequestTimeout limits one attempt of a request, except a watch. 0 means no limit.
	RequestTimeout time.Duration

	// ConnectTimeout limits opening a connection; WatchConnectTimeout does so for lists and
	// watches. 0 means no limit.
	ConnectTimeout, WatchConnectTimeout time.Duration

	// TrustEnv uses the proxies of $HTTPS_PROXY and related variables if the credentials
	// have none.
	TrustEnv bool

	// Backoffs are the pauses between attempts after network errors, 403, 429 and 5xx.
	Backoffs backoffs.Backoffs

	// EnforceRetryAfter follows the server's Retry-After even if it is shorter than the
	// next pause.
	EnforceRetryAfter bool

	// UserAgent is the user agent of requests whose credentials set none; see UserAgent.
	UserAgent string

	// Limits bound the rate of requests. New reads them once.
	Limits Limits

	// FinalRefusals means that a 403 is final for lists and watches: it is not retried.
	FinalRefusals bool

	// Wrap wraps the transport of each connection. If the result is a GuestTransport, the
	// requests of guests have a transport of their own. Nil: nothing wraps it.
	Wrap func(http.RoundTripper) http.RoundTripper

	// Meter counts the requests. New reads it once. Nil: nothing counts them.
	Meter *meters.Requests

	// Refused is called when a request is refused for the first time (403). It must not block. New reads it
	// once. It may be nil.
	Refused func()

	// Tracer takes a span for each request that is sent. New reads it once. Nil: none is made.
	Tracer tracing.Tracer

	hooks Hooks  // hooks of one request
	into  []byte // memory for the answer of one request; nil: none
}

// GuestTransport is a transport that knows another one for the requests of guests.
type GuestTransport interface {
	ForGuests() http.RoundTripper
}

// Client talks to one cluster with the credentials of one operator.
type Client struct {
	vault     *credentials.Vault
	options   func() Options
	log       func(message string) // logs retries and failures of attempts
	requests  *rate.Limiter        // limits all requests
	meter     *meters.Requests     // nil: nothing counts requests
	tracer    tracing.Tracer       // nil: no spans
	delayed   atomic.Uint64
	refused   atomic.Uint64 // responses with the status 403
	onRefusal func()        // called at the first of them; nil: no function is called

	patches, events, others class
	unpatched               refusals

	mu          sync.Mutex // guards connections
	connections map[*credentials.Item]*connection
}

// New makes a client with the credentials of a vault. It sends no request.
func New(vault *credentials.Vault, options func() Options, log func(message string)) *Client {
	initial := options()
	limits := initial.Limits
	return &Client{
		vault: vault, options: options, log: log, onRefusal: initial.Refused, meter: initial.Meter, tracer: initial.Tracer,
		requests:    limits.Requests.Or(DefaultLimits.Requests).Limiter(),
		patches:     class{slots: make(chan struct{}, MaxWrites), retried: isRetried},
		events:      class{make(chan struct{}, MaxEvents), limits.Events.Or(DefaultLimits.Events).Limiter(), &atomic.Uint64{}, isUnrefused},
		others:      class{retried: isRetried},
		connections: map[*credentials.Item]*connection{},
	}
}

// once returns the options of a request that is not repeated.
func (c *Client) once() Options { return Options{RequestTimeout: c.options().RequestTimeout} }

// Get reads an object or a listing in one attempt. The caller can repeat a read, and must
// learn of a missing permission at once.
func (c *Client) Get(ctx context.Context, path apipath.Path, query url.Values) ([]byte, error) {
	return c.request(ctx, reading, c.others, c.once(), toRead(with(path, query)))
}

// Patch patches an object and returns the patched object.
func (c *Client) Patch(ctx context.Context, path apipath.Path, contentType string, body []byte) ([]byte, error) {
	return c.request(ctx, writing, c.patches, c.options(), toWrite(http.MethodPatch, path, contentType, body))
}

// Hooks report the progress of a request to a caller that holds a resource for which
// others wait. Each hook may be nil.
type Hooks struct {
	Sent    func()      // called after each attempt is sent, before its response
	Pausing func()      // called before each pause between two attempts
	Failed  func(error) // called with the error of each attempt that another one follows
}

// GetWith is Get with hooks.
func (c *Client) GetWith(ctx context.Context, path apipath.Path, hooks Hooks) ([]byte, error) {
	options := c.once()
	options.hooks = hooks
	return c.request(ctx, reading, c.others, options, toRead(string(path)))
}

// PatchInto is Patch with hooks, and with memory for the answer. The answer is in that memory
// if it is large enough.
func (c *Client) PatchInto(ctx context.Context, path apipath.Path, contentType string, body []byte, hooks Hooks, into []byte) ([]byte, error) {
	options := c.options()
	failed := hooks.Failed
	hooks.Failed = func(err error) {
		c.unpatched.note(path, err)
		if failed != nil {
			failed(err)
		}
	}
	options.hooks, options.into = hooks, into
	data, err := c.request(ctx, writing, c.patches, options, toWrite(http.MethodPatch, path, contentType, body))
	c.unpatched.note(path, err)
	return data, err
}

// Post creates an object, with the given pauses between attempts.
func (c *Client) Post(ctx context.Context, path apipath.Path, body []byte, pauses backoffs.Backoffs) error {
	options := c.options()
	options.Backoffs = pauses
	_, err := c.request(ctx, writing, c.others, options, toWrite(http.MethodPost, path, ofJSON, body))
	return err
}

// Write creates or replaces an object in one attempt, and returns the object.
func (c *Client) Write(ctx context.Context, method string, path apipath.Path, body []byte) ([]byte, error) {
	return c.request(ctx, writing, c.others, c.once(), toWrite(method, path, ofJSON, body))
}

// Ask creates an object that the server answers and does not keep, such as a review of
// rights. It makes one attempt.
func (c *Client) Ask(ctx context.Context, path apipath.Path, body []byte) (answer []byte, err error) {
	return c.request(ctx, reading, c.others, c.once(), toWrite(http.MethodPost, path, ofJSON, body))
}

// PostEvent is Post for Kubernetes events, within their limits. It does not retry a
// refused event unless the server sends Retry-After: events are for people, and guests can
// cause any number of them.
func (c *Client) PostEvent(ctx context.Context, path apipath.Path, body []byte, pauses backoffs.Backoffs) error {
	options := c.options()
	options.Backoffs = pauses
	_, err := c.request(ctx, writing, c.events, options, toWrite(http.MethodPost, path, ofJSON, body))
	return err
}

// Stream opens a long response: a list or a watch. The caller closes it. Only opening is
// retried. Cancelling the context also ends the response.
func (c *Client) Stream(ctx context.Context, path apipath.Path, query url.Values, hooks Hooks) (io.ReadCloser, error) {
	return c.stream(ctx, path, query, hooks, reading, func() {})
}

// StreamApart is Stream over a connection of its own, which the caller reads itself, while few
// streams have one. Such a connection has no pings, so the caller has to give up a stream that is
// silent.
func (c *Client) StreamApart(ctx context.Context, path apipath.Path, query url.Values, hooks Hooks) (io.ReadCloser, error) {
	var taken *places
	leave := func() {
		if taken != nil {
			taken.leave()
		}
		taken = nil
	}
	by := func(conn *connection) *http.Client {
		if conn.places == nil {
			return conn.watch
		}
		if leave(); !conn.places.take() {
			return conn.watch
		}
		taken = conn.places
		return conn.write
	}
	stream, err := c.stream(ctx, path, query, hooks, by, sync.OnceFunc(leave))
	if err != nil {
		leave()
	}
	return stream, err
}

// stream opens a long response. It calls closed when the response is closed.
func (c *Client) stream(ctx context.Context, path apipath.Path, query url.Values, hooks Hooks, by via, closed func()) (io.ReadCloser, error) {
	d := toRead(with(path, query))
	var stream io.ReadCloser
	options, retried := c.options(), isRetried
	options.hooks = hooks
	if options.FinalRefusals {
		retried = isUnrefused
	}
	err := c.retrying(ctx, retried, options, d, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		rsp, item, err := c.send(ctx, by, d) //nolint:bodyclose // the caller of Stream closes it
		if err != nil {
			cancel()
			return err
		}
		remove := item.WhenGone(cancel) // a long response must not outlive its credentials
		stream = &response{rsp.Body, func() { remove(); cancel(); closed() }}
		return nil
	})
	return stream, err
}

// response is a long response. Close ends its context.
type response struct {
	io.ReadCloser
	cancel func()
}

// Close ends the response.
func (r *response) Close() error {
	r.cancel()
	return r.ReadCloser.Close()
}

// Repeat makes related requests, such as those of discovery. It retries all of them as if
// they were one request.
func (c *Client) Repeat(ctx context.Context, path apipath.Path, send func() error) error {
	return c.retrying(ctx, isRetried, c.options(), toRead(string(path)), func(context.Context) error { return send() })
}

// request makes a request of a class, and reads the whole response.
func (c *Client) request(ctx context.Context, by via, of class, o Options, d draft) ([]byte, error) {
	var data []byte
	if sent := o.hooks.Sent; sent != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent() }})
	}
	err := c.retrying(ctx, of.retried, o, d, func(ctx context.Context) error {
		leave, err := of.enter(ctx)
		if err != nil {
			return err
		}
		defer leave()
		ctx, cancel := limited(ctx, o.RequestTimeout)
		defer cancel()
		rsp, _, err := c.send(ctx, by, d)
		if err != nil {
			return err
		}
		defer rsp.Body.Close()
		data, err = readAll(rsp, o.into)
		return err
	})
	return data, err
}

// MaxBody limits a response that is read as a whole, in bytes. Objects and the discovery
// documents of large clusters are much smaller.
const MaxBody = 64 << 20

// ErrLongBody is the error of a response that is longer than MaxBody.
var ErrLongBody = errors.New("the answer is longer than 64 MiB")

// Memory that is provided for a response before it arrives, in bytes: usual is for one of an
// unknown length, maxProvided is the limit for an announced length.
const (
	usualBody   = 2 << 10
	maxProvided = 1 << 20
)

// readAll reads a response into the given memory, or into memory of its announced length, if
// that is known.
func readAll(rsp *http.Response, into []byte) ([]byte, error) {
	length := int64(usualBody)
	if rsp.ContentLength >= 0 {
		length = min(rsp.ContentLength, maxProvided)
	}
	data := slices.Grow(into[:0], int(length)+1) // so that the end is found without more memory
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, bytes.MinRead)
		}
		n, err := rsp.Body.Read(data[len(data):min(cap(data), MaxBody+1)])
		data = data[:len(data)+n]
		switch {
		case len(data) > MaxBody:
			return data, ErrLongBody
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return data, err
		}
	}
}

// send makes one attempt. It reads and closes the response of a failed attempt.
func (c *Client) send(ctx context.Context, by via, d draft) (*http.Response, *credentials.Item, error) {
	rsp, item, err := c.do(ctx, d, by)
	if err != nil {
		return nil, nil, err
	}
	if rsp.StatusCode >= http.StatusBadRequest {
		defer rsp.Body.Close()
		if rsp.StatusCode == http.StatusForbidden {
			if c.refused.Add(1) == 1 && c.onRefusal != nil {
				c.onRefusal()
			}
		}
		return nil, nil, ReadError(rsp)
	}
	return rsp, item, nil
}

// retrying repeats an attempt while its error allows it and pauses remain.
func (c *Client) retrying(ctx context.Context, retried func(error) bool, options Options, d draft, attempt func(context.Context) error) error {
	count := options.Backoffs.Attempts()
	for n := 1; ; n++ {
		err := attempt(ctx)
		if err == nil || ctx.Err() != nil || !retried(err) {
			return err
		}
		pause, more := options.pause(n, err)
		if more || count != 1 {
			c.log(fmt.Sprintf("Request attempt %s failed; %s: %s %s -> %v", ordinal(n, count), next[more], d.method, d.target, err))
		}
		if !more {
			return err
		}
		options.hooks.pausing(err)
		if err := backoffs.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

func (h Hooks) pausing(err error) {
	if h.Failed != nil {
		h.Failed(err)
	}
	if h.Pausing != nil {
		h.Pausing()
	}
}

// next is the part of a message that says what follows a failed attempt.
var next = map[bool]string{true: "will retry", false: "escalating"}

// ordinal formats the number of an attempt, with the total if it is finite.
func ordinal(n, count int) string {
	if count == 0 {
		return fmt.Sprintf("#%d", n)
	}
	return fmt.Sprintf("#%d/%d", n, count)
}

// pause returns the time before the next attempt, and false if there is no next attempt.
// It is the pause from the settings, or the server's if that is longer.
func (o Options) pause(attempt int, err error) (pause time.Duration, more bool) {
	pause, more = o.Backoffs.Pause(attempt)
	after, ok := retryAfter(err)
	if ok && (o.EnforceRetryAfter || after > pause) {
		pause = after
	}
	return pause, more
}
