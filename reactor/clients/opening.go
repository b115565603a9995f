package clients

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// opening lets the first request of a transport open its connection alone. Requests that begin
// at the same time would open one each, and HTTP/2 keeps a single one of them.
type opening struct {
	lead   sync.Once     // the first request
	opened chan struct{} // closed when the first request has a connection, or has failed
	open   func()        // closes it
}

func newOpening() *opening {
	o := &opening{opened: make(chan struct{})}
	o.open = sync.OnceFunc(func() { close(o.opened) })
	return o
}

// roundTrip sends a request. Requests after the first one wait until that one has a connection,
// or has failed, but not longer than their contexts.
func (o *opening) roundTrip(rt http.RoundTripper, r *http.Request) (*http.Response, error) {
	leads := false
	o.lead.Do(func() { leads = true })
	if leads {
		defer o.open()
		trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { o.open() }}
		return rt.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	}
	if err := o.wait(r.Context()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return rt.RoundTrip(r)
}

func (o *opening) wait(ctx context.Context) error {
	select {
	case <-o.opened:
		return nil
	default:
	}
	select {
	case <-o.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
