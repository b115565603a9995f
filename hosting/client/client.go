// Package client asks a host about its operators: kopf get, describe, logs and retry.
package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/endpoints"
	"github.com/kopf-wasm/kopf/hosting/facts"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedfile"
	"github.com/kopf-wasm/kopf/internal/legible"
)

// Bounds of answers, in bytes.
const (
	maxReport     = 256 << 20
	maxFound      = 1 << 20 // about an object
	maxLine       = 64 << 10
	answerTimeout = 30 * time.Second // until the beginning of an answer
)

// Options say which host is asked, and as whom.
type Options struct {
	URL         string // http://127.0.0.1:8080, https://kopf-serve.example:8443
	Authorities string // the file of certificate authorities in PEM; empty: those of the system

	// Login returns the credentials for a host with HTTPS; nil: none. Only their token is
	// sent, and never without HTTPS.
	Login func(ctx context.Context) (*rest.Config, error)
}

// Client asks one host.
type Client struct {
	base     string
	http     *http.Client
	patience time.Duration // for a whole answer, without streams
}

// ErrUnreachable says that no host answers.
var ErrUnreachable = errors.New("no host answers")

// New creates a client without connecting.
//
// Errors name the URL or the file at fault.
func New(ctx context.Context, o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%.200q: want a URL like http://127.0.0.1:8080 or https://kopf-serve.example:8443", o.URL)
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Authorities != "" {
		text, err := boundedfile.Read(o.Authorities, boundedfile.MaxDocument)
		if err != nil {
			return nil, fmt.Errorf("the certificate authorities: %w", err)
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("the certificate authorities: %s has no certificate in PEM", o.Authorities)
		}
	}
	var transport http.RoundTripper = &http.Transport{TLSClientConfig: secure, ResponseHeaderTimeout: answerTimeout, TLSHandshakeTimeout: answerTimeout, Proxy: http.ProxyFromEnvironment}
	if u.Scheme == "https" && o.Login != nil {
		if transport, err = authenticated(ctx, o.Login, transport); err != nil {
			return nil, err
		}
	}
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a token is for this host only
	return &Client{strings.TrimRight(u.String(), "/"), &http.Client{Transport: transport, CheckRedirect: refuse}, 2 * answerTimeout}, nil
}

// authenticated adds the token of a user, if there is one.
func authenticated(ctx context.Context, login func(context.Context) (*rest.Config, error), transport http.RoundTripper) (http.RoundTripper, error) {
	config, err := login(ctx)
	if err != nil || config == nil {
		return transport, err
	}
	tokens := &rest.Config{BearerToken: config.BearerToken, BearerTokenFile: config.BearerTokenFile, ExecProvider: config.ExecProvider, AuthProvider: config.AuthProvider, AuthConfigPersister: config.AuthConfigPersister}
	return rest.HTTPWrappersForConfig(tokens, transport)
}

// Report returns the state of the host and its operators.
func (c *Client) Report(ctx context.Context) (*facts.Report, error) {
	report := &facts.Report{}
	if err := c.read(ctx, "/statusz?format=json", "is no report of a host", maxReport, report); err != nil {
		return nil, err
	}
	if report.Schema != facts.Schema {
		return nil, fmt.Errorf("%s: the report has the schema %.100q, and this program knows %s: use the kopf of the host", c.base, report.Schema, facts.Schema)
	}
	return report, nil
}

// Logs passes the newest log records of an operator to a function, and then new ones, until
// the stream or the context ends, if it is to follow.
func (c *Client) Logs(ctx context.Context, of *facts.Operator, follow bool, each func(r *endpoints.Record) error) error {
	answer, err := c.ask(ctx, http.MethodGet, fmt.Sprintf("%s/logs?follow=%v", pathOf(of), follow))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		record := &endpoints.Record{}
		if err := json.Unmarshal(lines.Bytes(), record); err != nil {
			return fmt.Errorf("%s: a log record: %w", c.base, err)
		}
		if err := each(record); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: the stream of the log has ended: %w", c.base, err)
	}
	return nil
}

// Object returns what an operator does for the object with a uid.
func (c *Client) Object(ctx context.Context, of *facts.Operator, uid string) (*facts.Object, error) {
	found := &facts.Object{}
	if err := c.read(ctx, pathOf(of)+"/object?uid="+url.QueryEscape(uid), "does not describe an object", maxFound, found); err != nil {
		return nil, err
	}
	return found, nil
}

// Retry makes the host try a failed operator again.
func (c *Client) Retry(ctx context.Context, of *facts.Operator) error {
	answer, err := c.ask(ctx, http.MethodPost, pathOf(of)+"/retry")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func pathOf(of *facts.Operator) string {
	path := "/" + of.Kind.Plural()
	if of.Namespace != "" {
		path += "/" + url.PathEscape(of.Namespace)
	}
	return path + "/" + url.PathEscape(of.Name)
}

// read decodes the answer at a path, of at most so many bytes. Fault is what the error says of another answer.
func (c *Client) read(ctx context.Context, path, fault string, limit int64, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	answer, err := c.ask(ctx, http.MethodGet, path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(io.LimitReader(answer.Body, limit)).Decode(into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		err = errors.New(strings.TrimSpace("unexpected " + wrong.Value + " " + wrong.Field))
	}
	if err != nil {
		return fmt.Errorf("%s: the answer %s: %w", c.base, fault, err)
	}
	return nil
}

// ask makes a request. The caller closes the body of the answer.
func (c *Client) ask(ctx context.Context, method, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.base, err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		defer answer.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(answer.Body, facts.MaxText)) // a part is better than nothing
		said := strings.TrimSuffix(answer.Status+": "+legible.Line(strings.TrimSpace(string(text))), ": ")
		return nil, fmt.Errorf("%s: %s", c.base, said)
	}
	return answer, nil
}
