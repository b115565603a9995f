// Package clients makes the API requests of the reactor: raw bytes in, raw
// bytes out, with the retries of the reference. client-go gives configuration,
// credentials, transports and error types; objects are not decoded here.
//
// Kopf: kopf._cogs.clients (v1.45).
package clients

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// Content types of patches.
const (
	MergePatch = "application/merge-patch+json"
	JSONPatch  = "application/json-patch+json"
)

// Options are the settings that concern requests; they may change while the
// operator runs, so they are asked for.
type Options struct {
	// RequestTimeout limits one attempt of a request, but not of a watch. 0 is none.
	RequestTimeout time.Duration

	// ConnectTimeout limits the making of a connection, WatchConnectTimeout of one for
	// listing and watching. 0 is none.
	ConnectTimeout, WatchConnectTimeout time.Duration

	// TrustEnv takes proxies from $HTTPS_PROXY and the like, if the credentials have
	// none.
	TrustEnv bool

	// Backoffs are the pauses between attempts after network errors, 403, 429
	// and 5xx.
	Backoffs backoffs.Backoffs

	// EnforceRetryAfter obeys the server's Retry-After even if it is shorter than
	// the next pause.
	EnforceRetryAfter bool

	// UserAgent is that of all requests whose credentials bring none; see UserAgent.
	UserAgent string

	// Limits bound the requests in time. They are those at the time of New.
	Limits Limits

	hooks Hooks // of one request
}

// Client talks to one cluster with the credentials of one operator.
type Client struct {
	vault    *credentials.Vault
	options  func() Options
	log      func(message string) // retries and failures of attempts
	requests *rate.Limiter        // of all
	delayed  atomic.Uint64

	patches, events, others class

	mu          sync.Mutex // guards connections
	connections map[*credentials.Item]*connection
}

// New makes a client with the credentials of a vault. It sends nothing yet.
func New(vault *credentials.Vault, options func() Options, log func(message string)) *Client {
	limits := options().Limits
	return &Client{
		vault: vault, options: options, log: log,
		requests:    limits.Requests.Or(DefaultLimits.Requests).Limiter(),
		patches:     class{slots: make(chan struct{}, MaxWrites), retried: isRetried},
		events:      class{make(chan struct{}, MaxEvents), limits.Events.Or(DefaultLimits.Events).Limiter(), isRetriedEvent},
		others:      class{retried: isRetried},
		connections: map[*credentials.Item]*connection{},
	}
}

// Get reads an object or a listing, in one attempt: what is read can be read
// again, and a missing permission should be known at once.
func (c *Client) Get(ctx context.Context, path apipath.Path, query url.Values) ([]byte, error) {
	return c.request(ctx, reading, c.others, Options{RequestTimeout: c.options().RequestTimeout}, http.MethodGet, with(path, query), "", nil)
}

// Patch patches an object and returns it as it is afterwards.
func (c *Client) Patch(ctx context.Context, path apipath.Path, contentType string, body []byte) ([]byte, error) {
	return c.request(ctx, writing, c.patches, c.options(), http.MethodPatch, string(path), contentType, body)
}

// Hooks tell a caller that holds something for which others wait how far its request is.
// Each may be nil.
type Hooks struct {
	Sent    func() // after each attempt is sent, before its answer comes
	Pausing func() // before each pause between two attempts
}

// GetWith is Get with hooks.
func (c *Client) GetWith(ctx context.Context, path apipath.Path, hooks Hooks) ([]byte, error) {
	return c.request(ctx, reading, c.others, Options{RequestTimeout: c.options().RequestTimeout, hooks: hooks}, http.MethodGet, string(path), "", nil)
}

// PatchWith is Patch with hooks.
func (c *Client) PatchWith(ctx context.Context, path apipath.Path, contentType string, body []byte, hooks Hooks) ([]byte, error) {
	options := c.options()
	options.hooks = hooks
	return c.request(ctx, writing, c.patches, options, http.MethodPatch, string(path), contentType, body)
}

// Post creates an object, with pauses between attempts of its own.
func (c *Client) Post(ctx context.Context, path apipath.Path, body []byte, pauses backoffs.Backoffs) error {
	options := c.options()
	options.Backoffs = pauses
	_, err := c.request(ctx, writing, c.others, options, http.MethodPost, string(path), "application/json", body)
	return err
}

// PostEvent is Post for Kubernetes events, within their limits. What the server refuses is
// not tried again, unless it asks for that: events are for people, and guests can cause any
// number of them.
func (c *Client) PostEvent(ctx context.Context, path apipath.Path, body []byte, pauses backoffs.Backoffs) error {
	options := c.options()
	options.Backoffs = pauses
	_, err := c.request(ctx, writing, c.events, options, http.MethodPost, string(path), "application/json", body)
	return err
}

// Stream opens a long response: a listing or a watch. The caller closes it. Only
// the opening is retried; cancelling the context ends the response too.
func (c *Client) Stream(ctx context.Context, path apipath.Path, query url.Values) (io.ReadCloser, error) {
	target := with(path, query)
	var stream io.ReadCloser
	err := c.retrying(ctx, isRetried, c.options(), http.MethodGet, target, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		rsp, item, err := c.send(ctx, reading, content{}, http.MethodGet, target) //nolint:bodyclose // the caller of Stream closes it
		if err != nil {
			cancel()
			return err
		}
		go whileValid(ctx, item, cancel) // Ends at the latest when the stream is closed.
		stream = &response{rsp.Body, cancel}
		return nil
	})
	return stream, err
}

// with is a path with a query.
func with(path apipath.Path, query url.Values) string {
	if len(query) == 0 {
		return string(path)
	}
	return string(path) + "?" + query.Encode()
}

// response is a long response. Closing it ends its context.
type response struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close ends the response.
func (r *response) Close() error {
	r.cancel()
	return r.ReadCloser.Close()
}

// Repeat makes requests that belong together, such as those of the discovery, with the
// same attempts as one.
func (c *Client) Repeat(ctx context.Context, path apipath.Path, send func() error) error {
	return c.retrying(ctx, isRetried, c.options(), http.MethodGet, string(path), func(context.Context) error { return send() })
}

func (c *Client) request(ctx context.Context, by via, of class, o Options, method, target, contentType string, body []byte) ([]byte, error) {
	var data []byte
	if o.hooks.Sent != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { o.hooks.Sent() }})
	}
	err := c.retrying(ctx, of.retried, o, method, target, func(ctx context.Context) error {
		leave, err := of.enter(ctx)
		if err != nil {
			return err
		}
		defer leave()
		ctx, cancel := limited(ctx, o.RequestTimeout)
		defer cancel()
		rsp, _, err := c.send(ctx, by, content{kind: contentType, body: body}, method, target)
		if err != nil {
			return err
		}
		defer rsp.Body.Close()
		data, err = readAll(rsp.Body)
		return err
	})
	return data, err
}

// maxBody bounds an answer that is read as a whole. Objects and the discovery of large
// clusters are smaller by far.
const maxBody = 64 << 20

var errLongBody = errors.New("the answer is longer than 64 MiB")

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err == nil && len(data) > maxBody {
		err = errLongBody
	}
	return data, err
}

// content is what a request brings, and what it wants.
type content struct {
	kind   string // of the body
	body   []byte
	accept string // empty: JSON
}

// send makes one attempt. The response of a failed one is read and closed here.
func (c *Client) send(ctx context.Context, by via, what content, method, target string) (*http.Response, *credentials.Item, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(what.body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", cmp.Or(what.accept, "application/json"))
	if what.kind != "" {
		req.Header.Set("Content-Type", what.kind)
	}
	rsp, item, err := c.do(req, by)
	if err != nil {
		return nil, nil, err
	}
	if rsp.StatusCode >= http.StatusBadRequest {
		defer rsp.Body.Close()
		return nil, nil, readError(rsp)
	}
	return rsp, item, nil
}

// retrying repeats an attempt as long as there are pauses for its error.
func (c *Client) retrying(ctx context.Context, retried func(error) bool, options Options, method, target string, attempt func(context.Context) error) error {
	count := options.Backoffs.Attempts()
	for n := 1; ; n++ {
		err := attempt(ctx)
		if err == nil || ctx.Err() != nil || !retried(err) {
			return err
		}
		pause, more := options.pause(n, err)
		if more || count != 1 {
			c.log(fmt.Sprintf("Request attempt %s failed; %s: %s %s -> %v", ordinal(n, count), next[more], method, target, err))
		}
		if !more {
			return err
		}
		if options.hooks.Pausing != nil {
			options.hooks.Pausing()
		}
		if err := backoffs.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// next says what comes after a failed attempt.
var next = map[bool]string{true: "will retry", false: "escalating"}

// ordinal shows the number of an attempt, and of how many if they end.
func ordinal(n, count int) string {
	if count == 0 {
		return fmt.Sprintf("#%d", n)
	}
	return fmt.Sprintf("#%d/%d", n, count)
}

// pause is the time before the next attempt, if there is one: of the settings, or of
// the server if it asks for a longer one.
func (o Options) pause(attempt int, err error) (pause time.Duration, more bool) {
	pause, more = o.Backoffs.Pause(attempt)
	after, ok := retryAfter(err)
	if ok && (o.EnforceRetryAfter || after > pause) {
		pause = after
	}
	return pause, more
}
