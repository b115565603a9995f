package calls

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/networks"
)

// maxRedirects is the maximum number of redirects. Each redirect must be granted.
const maxRedirects = 5

// webMethods are the methods that guests may use with HTTP servers.
var webMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
}

// connectTimeout limits each of connecting and the TLS handshake.
const connectTimeout = 10 * time.Second

// newWebClient makes a client without state of the host: no proxies or credentials from
// the environment, no cookies.
func (c *Caller) newWebClient() *http.Client {
	o := &c.options
	transport := &http.Transport{
		DialContext:            dialer{o, &networks.Interfaces{}, c.admit}.dial,
		TLSClientConfig:        withinLimits(o.TLS),
		TLSHandshakeTimeout:    connectTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // see compressed
		MaxIdleConnsPerHost:    4,
		MaxIdleConns:           64,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{Transport: redirected{compressed{transport}, c.egress}, CheckRedirect: o.Grants.checkRedirect}
}

// Bounds of the certificates that a server sends. Those of the web are four certificates with some kilobytes. They stay in memory as long
// as the connection, many times as large as they are sent.
const (
	maxCertificates     = 16
	maxCertificateBytes = 64 << 10
)

// withinLimits returns a configuration that also refuses servers with too many certificates. A nil configuration is an empty one.
func withinLimits(config *tls.Config) *tls.Config {
	config = config.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	own := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		size := 0
		for _, c := range state.PeerCertificates {
			size += len(c.Raw)
		}
		if n := len(state.PeerCertificates); n > maxCertificates || size > maxCertificateBytes {
			return fmt.Errorf("the server has sent %d certificates with %d bytes; at most %d with %d are accepted", n, size, maxCertificates, maxCertificateBytes)
		}
		if own != nil {
			return own(state)
		}
		return nil
	}
	return config
}

// dialer connects only to granted addresses.
type dialer struct {
	options    *Options
	interfaces *networks.Interfaces
	admit      func(ctx context.Context, requests int) error
}

// connectionCost is how many requests a new connection counts as, in addition to the first one that is sent over it. The handshake takes
// this process ten times as long as a request does, or much longer if the server wants that, and servers can refuse to keep connections.
const connectionCost = 9

// dial connects to a host if a grant covers its name, and the trust in the name allows the resolved
// address. The URL was checked before, but the name that arrives here is the one that is resolved.
func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", address, err)
	}
	name = canonical(name)
	if !d.options.Grants.reaches(name, port) {
		return nil, &refusal{abi.CallNotGranted, fmt.Sprintf("the operator is not granted to reach %s", shown(address))}
	}
	if err := d.admit(ctx, connectionCost); err != nil {
		return nil, err
	}
	guarded := &net.Dialer{Timeout: connectTimeout, Control: d.options.trustIn(name, port).control(name, d.interfaces.Addresses)}
	return guarded.DialContext(ctx, network, address)
}

// checkRedirect follows a redirect if its target is granted. The guest's headers are for
// the first server only. After a redirect to another server they are dropped, even if a
// later redirect leads back.
func (g Grants) checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if err := g.allowsURL(next.URL); err != nil {
		return fmt.Errorf("redirect: %w", err)
	}
	if !isOneOrigin(append(before[:len(before):len(before)], next)) {
		for name := range next.Header {
			if !slices.Contains([]string{"Accept", "Content-Type", "User-Agent"}, name) {
				next.Header.Del(name)
			}
		}
	}
	return nil
}

// isOneOrigin reports whether all requests go to one server.
func isOneOrigin(requests []*http.Request) bool {
	first, err := hostOf(requests[0].URL)
	return err == nil && !slices.ContainsFunc(requests[1:], func(r *http.Request) bool {
		other, err := hostOf(r.URL)
		return err != nil || other != first
	})
}

// allowsURL returns an error unless a grant covers the URL.
func (g Grants) allowsURL(u *url.URL) error {
	if u.User != nil {
		return invalid("the URL of a call cannot have a user: set the header Authorization")
	}
	host, err := hostOf(u)
	if err != nil {
		return invalid("%v", err)
	}
	if strings.Contains(host.Name, all) {
		return invalid("%q is not a host name", shown(host.Name))
	}
	if slices.ContainsFunc(g.Hosts, func(granted Host) bool { return granted.covers(host) }) {
		return nil
	}
	return &refusal{abi.CallNotGranted, fmt.Sprintf("the operator is not granted to reach %s: %s %s", host, flagHost, host)}
}

// toWeb prepares a request to an HTTP server.
func (c *Caller) toWeb(call *abi.Call, body []byte) (request, error) {
	if len(call.Path) > maxPath {
		return nil, invalid("a URL of %d bytes; the limit is %d", len(call.Path), maxPath)
	}
	target, err := url.Parse(call.Path)
	if err != nil {
		return nil, invalid("the URL: %v", err)
	}
	if !slices.Contains(webMethods, call.Method) {
		return nil, invalid("the method must be one of %s, not %q", strings.Join(webMethods, ", "), shown(call.Method))
	}
	header, err := webHeader(c.options.UserAgent, call.Headers)
	if err != nil {
		return nil, err
	}
	if err := c.options.Grants.allowsURL(target); err != nil {
		return nil, err
	}
	if c.options.Withhold != nil && !isReading(call.Method) {
		c.options.Withhold(call.Method, call.Path, body)
		return nil, &refusal{abi.CallReadOnly, fmt.Sprintf("%s %s is not sent: this is a dry run", call.Method, shown(call.Path))}
	}
	return func(ctx context.Context) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, call.Method, call.Path, bytes.NewReader(body))
		if err != nil {
			return nil, invalid("%v", err)
		}
		req.Header = header.Clone()
		rsp, err := c.web.Do(req)
		return rsp, unwrapped(err)
	}, nil
}

// unwrapped returns the error without the URL that http.Client prepends: its query may
// contain secrets.
func unwrapped(err error) error {
	var wrapper *url.Error
	if errors.As(err, &wrapper) {
		return fmt.Errorf("%s: %w", wrapper.Op, wrapper.Err)
	}
	return err
}

// hopByHop are the headers that belong to the connection, not to the request.
var hopByHop = []string{
	"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// webHeader returns the headers of the guest after checking them.
func webHeader(agent string, headers map[string][]string) (http.Header, error) {
	result := http.Header{}
	for name, values := range headers {
		canonical := http.CanonicalHeaderKey(name)
		if _, twice := result[canonical]; twice {
			return nil, invalid("the header %s is there in several spellings", shown(canonical))
		}
		if slices.Contains(hopByHop, canonical) || strings.HasPrefix(canonical, "Proxy-") {
			return nil, invalid("the header %s belongs to the host", canonical)
		}
		if !isToken(name) || slices.ContainsFunc(values, func(v string) bool { return strings.ContainsFunc(v, isControl) }) {
			return nil, invalid("the header %q is malformed", shown(name))
		}
		result[canonical] = append([]string(nil), values...)
	}
	if _, own := result["User-Agent"]; !own {
		result["User-Agent"] = []string{agent}
	}
	return result, nil
}

// isToken reports whether a text is a valid header name. See RFC 9110, 5.6.2.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
