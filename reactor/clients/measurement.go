package clients

import (
	"context"
	"net/http"
	"time"

	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// measured sends a request, counts it, and makes its span.
func (c *Client) measured(ctx context.Context, req *http.Request, conn *connection, by via) (*http.Response, error) {
	span := tracing.Begin(ctx, c.tracer, tracing.Client, req.Method)
	defer span.End()
	began, status := time.Now(), 0
	rsp, err := conn.send(by, req)
	if err == nil {
		status = rsp.StatusCode
	}
	c.meter.Count(req.Method, status, time.Since(began))
	if span == nil {
		return rsp, err
	}
	span.Set("http.request.method", req.Method)
	span.Set("server.address", req.URL.Host)
	span.Set("url.path", req.URL.Path)
	switch {
	case err != nil:
		span.Fail(err.Error())
	case status >= http.StatusBadRequest:
		span.Fail(rsp.Status)
		fallthrough
	default:
		span.SetNumber("http.response.status_code", int64(status))
	}
	return rsp, err
}
