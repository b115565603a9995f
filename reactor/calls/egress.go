package calls

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// DefaultEgress is the default of Options.Egress, in bytes.
var DefaultEgress = clients.Rate{PerSecond: 8 << 20, Burst: 64 << 20}

// egress bounds the bytes of the requests of guests.
type egress struct {
	rate    clients.Rate
	longest time.Duration // the longest wait of one request
	bucket  *rate.Limiter
	delayed atomic.Uint64 // requests that have waited, or were refused
}

func newEgress(r clients.Rate, longest time.Duration) *egress {
	r = r.Or(DefaultEgress)
	return &egress{rate: r, longest: longest, bucket: r.Limiter()}
}

// admit waits until the bytes of a call with a decoded body may be sent.
//
// Errors name the limit.
func (e *egress) admit(ctx context.Context, call *abi.Call, body int) error {
	return e.take(ctx, call.Method, call.Path, sizeOf(call.Headers)+len(call.Method)+len(call.Path)+body)
}

// take waits until a number of bytes may be sent.
func (e *egress) take(ctx context.Context, method, path string, size int) error {
	now := time.Now()
	if e.bucket.AllowN(now, size) {
		return nil
	}
	e.delayed.Add(1)
	if size > e.rate.Burst {
		return &refusal{abi.CallTooLarge, fmt.Sprintf("%s %s: the request has %d bytes; the limit EgressBurst is %d: send less, or raise the limit with --limit EgressBurst=SIZE", method, shown(path), size, e.rate.Burst)}
	}
	ticket := e.bucket.ReserveN(now, size)
	wait := ticket.DelayFrom(now)
	if wait > e.longest {
		ticket.CancelAt(now)
		return &refusal{abi.CallTimeout, fmt.Sprintf("%s %s: the limit EgressRate of %d bytes a second is reached, and %d more would wait for %v: send less, or raise the limit with --limit EgressRate=SIZE", method, shown(path), e.rate.PerSecond, size, wait.Round(time.Second))}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		ticket.Cancel()
		return ctx.Err()
	}
}

// sizeOf is the size of headers in HTTP/1.1: the name, a colon, a space, the value and the end of
// the line. A header without values is not sent, but counts as one with an empty value: it takes memory while the request waits.
func sizeOf(headers map[string][]string) (size int) {
	for name, values := range headers {
		size += max(1, len(values)) * (len(name) + len(": \r\n"))
		for _, value := range values {
			size += len(value)
		}
	}
	return size
}

// redirected counts the bytes of redirected requests. Those of the first request are counted
// before its timeout begins.
type redirected struct {
	http.RoundTripper
	egress *egress
}

// CloseIdleConnections closes those of the transport, for http.Client.
func (r redirected) CloseIdleConnections() { closeIdle(r.RoundTripper) }

// RoundTrip waits until the bytes of a redirected request may be sent, and sends it.
func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Response != nil { // of the redirect
		target := req.URL.String()
		size := sizeOf(req.Header) + len(req.Method) + len(target) + int(max(req.ContentLength, 0))
		if err := r.egress.take(req.Context(), req.Method, req.URL.Redacted(), size); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // as a RoundTripper has to
			}
			return nil, err
		}
	}
	return r.RoundTripper.RoundTrip(req)
}
