package clients

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/credentials"
)

// discoveryTimeout limits one request of discovery.
const discoveryTimeout = 32 * time.Second

// connection sends requests with one set of credentials.
type connection struct {
	base          *url.URL
	agent         string       // the user agent of requests without one
	authorization string       // replaces the header that the transports set
	plugin        string       // the exec plugin that provides credentials; empty: none
	wrapped       bool         // the headers of requests may be changed: see isWrapped
	headers       sync.Map     // of requests, by accepted and sent content types
	watch         *http.Client // HTTP/2: pings detect dead connections
	write         *http.Client // HTTP/1.1: cheaper for many small requests, and for watches
	places        *places      // of watches over HTTP/1.1; nil: none
	answered      atomic.Bool  // whether the server has answered a request
	written       atomic.Bool  // whether a write was sent
}

func connect(info credentials.Info, o Options) (*connection, error) {
	base, err := serverOf(info.Config)
	if err != nil {
		return nil, err
	}
	conn := &connection{base: base, authorization: info.Authorization, agent: cmp.Or(info.Config.UserAgent, o.UserAgent, product)}
	conn.wrapped = isWrapped(info.Config)
	if exec := info.Config.ExecProvider; exec != nil {
		conn.plugin = exec.Command
	}
	if conn.watch, _, err = httpClient(info.Config, o.WatchConnectTimeout, o); err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	if conn.write, conn.places, err = httpClient(info.Config, o.ConnectTimeout, o, http11); err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	if o.ConnectTimeout != o.WatchConnectTimeout {
		conn.places = nil
	}
	for _, client := range []*http.Client{conn.watch, conn.write} {
		client.CheckRedirect = withinServer
		if client.Timeout = 0; o.Wrap != nil {
			client.Transport = o.Wrap(client.Transport)
		}
	}
	return conn, nil
}

// maxRedirects is that of net/http.
const maxRedirects = 10

// withinServer refuses redirects to other servers: the transports would send the credentials to them.
func withinServer(next *http.Request, before []*http.Request) error {
	if from := before[0].URL; next.URL.Scheme != from.Scheme || next.URL.Host != from.Host {
		return fmt.Errorf("the API server redirects to %s, which must not get its credentials", next.URL.Host)
	}
	if len(before) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	return nil
}

// serverOf returns the URL of the server of a configuration.
func serverOf(c *rest.Config) (*url.URL, error) {
	host := c.Host
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	server, err := url.Parse(host)
	if err != nil {
		return nil, fmt.Errorf("the server's URL %q: %w", c.Host, err)
	}
	return server, nil
}

// isWrapped reports whether the transport of a configuration may change the headers of requests:
// those of other programs, and the one of client-go for credential plugins, which sets the token.
func isWrapped(c *rest.Config) bool {
	return c.WrapTransport != nil || c.Transport != nil || c.AuthProvider != nil || c.ExecProvider != nil
}

// to makes a request to the cluster of the connection. It sets the user agent, because the
// wrappers of client-go would copy a request without one.
func (conn *connection) to(ctx context.Context, d draft) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, d.method, d.target, bytes.NewReader(d.content.body))
	if err != nil {
		return nil, err
	}
	req.URL.Scheme, req.URL.Host, req.Host = conn.base.Scheme, conn.base.Host, ""
	if prefix := strings.TrimRight(conn.base.Path, "/"); prefix != "" {
		escaped := strings.TrimRight(conn.base.EscapedPath(), "/") + req.URL.EscapedPath()
		req.URL.Path, req.URL.RawPath = prefix+req.URL.Path, escaped
	}
	req.Header = conn.header(&d.content)
	return req, nil
}

// header returns the headers of a request. Requests share those that the host chooses, unless
// the transport may change them.
func (conn *connection) header(c *content) http.Header {
	if c.header != nil {
		return conn.identified(c.header.Clone())
	}
	key := [2]string{cmp.Or(c.accept, "application/json"), c.kind}
	if known, ok := conn.headers.Load(key); ok && !conn.wrapped {
		return known.(http.Header)
	}
	header := http.Header{"Accept": {key[0]}}
	if c.kind != "" {
		header.Set("Content-Type", c.kind)
	}
	conn.headers.Store(key, conn.identified(header))
	return header
}

// identified adds the user agent and the authorization.
func (conn *connection) identified(header http.Header) http.Header {
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", conn.agent)
	}
	if conn.authorization != "" {
		header.Set("Authorization", conn.authorization)
	}
	return header
}

// connection returns the connection for credentials, and creates it at the first use.
func (c *Client) connection(item *credentials.Item) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn := c.connections[item]; conn != nil {
		return conn, nil
	}
	c.disconnect()
	conn, err := connect(item.Info, c.options())
	if err == nil {
		c.connections[item] = conn
	}
	return conn, err
}

// Server returns the URL of the server of the current credentials.
//
// Errors: those of the login.
func (c *Client) Server(ctx context.Context) (string, error) {
	item, err := c.vault.Take(ctx)
	if err != nil {
		return "", err
	}
	return item.Config.Host, nil
}

// Refused returns how many requests the server has answered with the status 403 so far.
func (c *Client) Refused() uint64 { return c.refused.Load() }

// disconnect closes the connections of credentials that are no longer used.
func (c *Client) disconnect() {
	for known, conn := range c.connections {
		select {
		case <-known.Gone():
			conn.watch.CloseIdleConnections()
			conn.write.CloseIdleConnections()
			delete(c.connections, known)
		default:
		}
	}
}

// via selects the transport of a request.
type via func(conn *connection) *http.Client

func reading(conn *connection) *http.Client { return conn.watch }

// writing selects the transport of a write. If the first one follows reads, it uses their
// connection: an operator that has just started handles its first object without waiting for
// another connection.
func writing(conn *connection) *http.Client {
	if first := conn.written.CompareAndSwap(false, true); first && conn.answered.Load() {
		return conn.watch
	}
	return conn.write
}

// do sends a request with credentials of the vault. If the cluster refuses them, it tries
// others until the cluster accepts some or none are left.
//
// Kopf: kopf._cogs.clients.auth.authenticated (v1.45).
func (c *Client) do(ctx context.Context, d draft, by via) (*http.Response, *credentials.Item, error) {
	for {
		if err := c.admit(ctx); err != nil {
			return nil, nil, err
		}
		item, err := c.vault.Take(ctx)
		if err != nil {
			return nil, nil, err
		}
		conn, err := c.connection(item)
		if err != nil {
			if err = fmt.Errorf("%s: %w", item.Config.Host, err); !c.vault.Invalidate(item, err) {
				return nil, nil, err
			}
			continue
		}
		rsp, refusal, err := c.authenticated(ctx, d, item, conn, by)
		if refusal == nil {
			return rsp, item, err
		}
		if refusal = fmt.Errorf("%w, says %s", refusal, item.Config.Host); !c.vault.Invalidate(item, refusal) {
			return nil, nil, refusal
		}
	}
}

// send sends a request. An exec plugin ignores the context, and other requests wait for it
// too. If the plugin hangs, send gives up.
func (conn *connection) send(by via, req *http.Request) (*http.Response, error) {
	if conn.plugin == "" {
		return by(conn).Do(req)
	}
	type answer struct {
		rsp *http.Response
		err error
	}
	answers := make(chan answer)
	go func() { // It ends with the plugin at the latest.
		rsp, err := by(conn).Do(req)
		select {
		case answers <- answer{rsp, err}:
		case <-req.Context().Done():
			if err == nil {
				rsp.Body.Close()
			}
		}
	}()
	select {
	case got := <-answers:
		return got.rsp, got.err
	case <-req.Context().Done():
		return nil, fmt.Errorf("gave up: the server or the credential plugin %s does not answer: %w", conn.plugin, req.Context().Err())
	}
}

// authenticated sends a request with given credentials. It sends the request twice if the
// credentials renew themselves after a refusal.
func (c *Client) authenticated(ctx context.Context, d draft, item *credentials.Item, conn *connection, by via) (rsp *http.Response, refusal, err error) {
	for attempt := 1; ; attempt++ {
		req, err := conn.to(ctx, d)
		if err != nil {
			return nil, nil, err
		}
		rsp, err := c.measured(ctx, req, conn, by)
		if err == nil && !conn.answered.Load() {
			conn.answered.Store(true)
		}
		if err != nil || rsp.StatusCode != http.StatusUnauthorized {
			return rsp, nil, err
		}
		refusal := ReadError(rsp)
		rsp.Body.Close()
		if attempt > 1 || !item.Renewing() {
			return nil, refusal, nil
		}
	}
}

// Discover reads a discovery document in one attempt. The server chooses the best of the
// accepted content types.
func (c *Client) Discover(ctx context.Context, path apipath.Path, accept string) (contentType string, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	rsp, _, err := c.send(ctx, reading, draft{http.MethodGet, string(path), content{accept: accept}})
	if err != nil {
		return "", nil, err
	}
	defer rsp.Body.Close()
	body, err = readAll(rsp, nil)
	return rsp.Header.Get("Content-Type"), body, err
}
