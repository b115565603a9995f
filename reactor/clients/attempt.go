package clients

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// Send makes one attempt of a request with only the given headers and the credentials. The
// response may have any status. Redirects are not followed, because they would forward the
// credentials. The caller closes the body, and limits the time by the context.
func (c *Client) Send(ctx context.Context, method string, path apipath.Path, query url.Values, header http.Header, body []byte) (*http.Response, error) {
	by := writing
	if method == http.MethodGet {
		by = reading
	}
	if header == nil {
		header = http.Header{}
	}
	rsp, _, err := c.do(ctx, draft{method, with(path, query), content{body: body, header: header}}, func(conn *connection) *http.Client {
		return &http.Client{
			Transport:     ofGuests(by(conn).Transport),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
	return rsp, err
}

// ofGuests returns the transport for the requests of guests.
func ofGuests(t http.RoundTripper) http.RoundTripper {
	if wrapped, ok := t.(GuestTransport); ok {
		return wrapped.ForGuests()
	}
	return t
}
