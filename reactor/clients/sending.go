package clients

import (
	"bytes"
	"context"
	"net/http"
	"strings"
)

// Send makes one attempt of a request, with nothing but the given headers and the
// credentials. The response may be of any status; redirects are not followed, since
// they would take the credentials along. The caller closes the body, and bounds the time by the context.
func (c *Client) Send(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	via := c.write
	if method == http.MethodGet {
		via = c.watch
	}
	target := strings.TrimRight(c.base.String(), "/") + path
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	once := &http.Client{Transport: via.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return once.Do(req)
}
