package clients

import (
	"bytes"
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
	req, err := http.NewRequestWithContext(ctx, method, with(path, query), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	rsp, _, err := c.do(req, func(conn *connection) *http.Client {
		return &http.Client{
			Transport:     by(conn).Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
	return rsp, err
}
