// Package apiserver makes single requests to the API server with given credentials: those of the
// host, or of an account that the host acts for. It also follows the few resources that the host itself
// watches. Operators make their requests by reactor/clients.
package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// Limits bound each request.
type Limits struct {
	Time  time.Duration // until the answer has been read; 0: only the context
	Bytes int64         // of the answer
}

// Client makes requests. It is safe for concurrent use.
type Client struct {
	web    *http.Client
	base   string
	limits Limits
}

// New creates a client with the server and the credentials of a configuration, which it copies.
//
// Errors: the configuration is invalid.
func New(config *rest.Config, limits Limits) (*Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = limits.Time
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{web: web, base: strings.TrimRight(server.String(), "/"), limits: limits}, nil
}

// Base returns the URL of the server, without a slash at the end.
func (c *Client) Base() string { return c.base }

// Do makes a request with a body of JSON, or without one, and decodes the answer.
//
// Errors: *errors.StatusError of apimachinery, if the API server refuses the request; the errors of
// the connection; the answer is no JSON, or too large.
func (c *Client) Do(ctx context.Context, method string, path apipath.Path, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base+string(path), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	response, err := c.web.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, c.limits.Bytes))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return refused(response.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}

// refused returns the error of an answer.
func refused(code int, text []byte) error {
	var status metav1.Status
	if json.Unmarshal(text, &status) != nil || status.Kind != "Status" {
		status = metav1.Status{Message: http.StatusText(code)}
	}
	status.Code = int32(code) //nolint:gosec // a status of HTTP is small
	return &apierrors.StatusError{ErrStatus: status}
}
