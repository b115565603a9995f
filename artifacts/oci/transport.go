package oci

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
)

// transport sends the requests to a registry, and to the hosts of its redirects. It uses the
// certificates that are trusted for each host.
//
// Plain HTTP is used for hosts that are listed as insecure, and for a requested registry on
// this machine that does not speak TLS. All other hosts require TLS, including the targets
// of redirects and token services.
type transport struct {
	sources *sources.Sources
	stall   time.Duration
	control func(host string, address netip.Addr) error // see Options; may be nil

	mu        sync.Mutex // guards what follows
	hosts     map[string]*http.Transport
	schemes   map[string]bool // maps hosts to whether they speak plain HTTP
	unchecked map[string]bool // hosts whose certificates are not verified; all are in insecure_sources
}

func newTransport(s *sources.Sources, stall time.Duration) *transport {
	return &transport{sources: s, stall: stall, hosts: map[string]*http.Transport{}, schemes: map[string]bool{}, unchecked: map[string]bool{}}
}

// toward is the transport of the requests for one registry host.
type toward struct {
	*transport
	host string
}

// RoundTrip sends a request. Reading the body of the response fails after a long pause. It
// also fails when the body has too many values for a decoder, unless the body is a blob.
//
// Errors: ErrLayout of bodies with too many values.
func (t toward) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !t.mayBePlain(req.URL.Host) {
		return nil, fmt.Errorf("%s must not be reached without TLS: to allow it, list it in insecure_sources of sources.yaml", req.URL.Host)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	resp, err := t.of(req.URL.Host, false).RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(err)
		return nil, err
	}
	body := &watched{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, stall: t.stall}
	kind := asked(req)
	if resp.Body = body; kind != "blobs" {
		resp.Body = document{layout.ValuesReader(body), body}
	}
	if kind == "referrers" && (resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusNotAcceptable) {
		resp.StatusCode = http.StatusNotFound // some registries without referrers, such as Artifactory, do not know the path
	}
	return resp, nil
}

// document is a body that will be decoded as JSON: see layout.ValuesReader.
type document struct {
	io.Reader
	io.Closer
}

// asked is what the original request, before redirects, asked for: "blobs", "manifests" or
// "referrers", by its path. Responses are JSON and small, but for blobs.
func asked(req *http.Request) string {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return path.Base(path.Dir(req.URL.Path))
}

// mayBePlain reports whether plain HTTP is allowed for a host.
func (t toward) mayBePlain(host string) bool {
	if t.sources.Insecure(host) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return host == t.host && t.schemes[host]
}

// loopback reports whether the name or the address of a host is this machine.
func loopback(host string) bool {
	name := hostname(host)
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// hostname is the name or the address of a host, in the spelling that connections use: without
// the port and the brackets of IPv6.
func hostname(host string) string { return (&url.URL{Host: host}).Hostname() }

// dialer connects to a host. A host that is this machine by name must also be so by address,
// because name resolution is not trusted.
func dialer(host string) *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if loopback(host) {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			if !loopback(address) {
				return fmt.Errorf("%s resolves to %s, which is not this machine", hostname(host), hostname(address))
			}
			return nil
		}
	}
	return d
}

// way is how the transport of one host reaches it: directly, or by proxies.
type way struct {
	host    string
	control func(host string, address netip.Addr) error // see Options; may be nil
	find    func(*http.Request) (*url.URL, error)       // the proxy of a request

	mu      sync.Mutex // guards proxies
	proxies []string   // addresses of the proxies that requests were sent to
}

// proxy returns the proxy of a request.
func (w *way) proxy(req *http.Request) (*url.URL, error) {
	found, err := w.find(req)
	if err != nil || found == nil {
		return found, err
	}
	address := net.JoinHostPort(found.Hostname(), cmp.Or(found.Port(), proxyPorts[found.Scheme]))
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.proxies, address) {
		w.proxies = append(w.proxies, address)
	}
	return found, nil
}

// proxyPorts are the default ports of proxies.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// isProxy reports whether an address is that of a proxy. The spelling of a host cannot make it
// one: an address that no proxy has is controlled.
func (w *way) isProxy(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.proxies, address)
}

// dial connects to the host, or to its proxy. It asks Options.Control about each address that
// the host resolves to, but not about a proxy, which the administrator has chosen.
func (w *way) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := dialer(w.host)
	if w.control == nil || w.isProxy(address) {
		return d.DialContext(ctx, network, address)
	}
	machine := d.Control
	d.Control = func(network, resolved string, c syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err == nil {
			err = w.control(hostname(w.host), at.Addr())
		}
		if err == nil && machine != nil {
			err = machine(network, resolved, c)
		}
		return err
	}
	return d.DialContext(ctx, network, address)
}

// maxHeader bounds the header of a response, in bytes. Signed URLs are the longest headers
// of registries.
const maxHeader = 256 << 10

// maxHosts bounds the hosts that a client remembers. Registries choose them by redirects, while
// an operator follows their tags for months.
const maxHosts = 64

// of returns the transport of one host. Once it was asked for an unchecked one, it verifies no
// certificates of this host.
func (t *transport) of(host string, unchecked bool) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.hosts[host]; found != nil && !unchecked {
		return found
	}
	if unchecked {
		t.unchecked[host] = true
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.unchecked[host]} // only for hosts in insecure_sources
	if own := t.sources.Authorities(host); own != nil {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		for _, c := range own {
			pool.AddCert(c)
		}
		config.RootCAs = pool
	}
	reached := &way{host: host, control: t.control, find: t.sources.Proxy()}
	made := &http.Transport{
		Proxy:                 reached.proxy,
		DialContext:           reached.dial,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: t.stall,
		IdleConnTimeout:       30 * time.Second,

		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    4,
		ForceAttemptHTTP2:      true,
	}
	if len(t.hosts) >= maxHosts {
		for known, h := range t.hosts { // in use or not: requests that were sent continue
			h.CloseIdleConnections()
			delete(t.hosts, known)
		}
	}
	t.hosts[host] = made
	return made
}

// plain detects whether to use plain HTTP for a registry. Hosts that may not be insecure use
// TLS. Other hosts are probed: first TLS with a trusted certificate, then, if the host is
// listed, TLS with any certificate. Only a host that answers TLS with something else uses
// plain HTTP. A host that does not answer is probed again at the next request.
func (t *transport) plain(ctx context.Context, host string) (bool, error) {
	if !t.sources.Insecure(host) && !loopback(host) {
		return false, nil
	}
	t.mu.Lock()
	plain, known := t.schemes[host]
	t.mu.Unlock()
	if known {
		return plain, nil
	}
	err := t.probe(ctx, host, false)
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) && t.sources.Insecure(host) {
		err = t.probe(ctx, host, true)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil && !answersWithoutTLS(err) {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.schemes[host] = err != nil
	return t.schemes[host], nil
}

// answersWithoutTLS reports whether a host answered a TLS handshake with something else.
func answersWithoutTLS(err error) bool {
	var header tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &header)
}

// probe sends a TLS request without a meaning.
func (t *transport) probe(ctx context.Context, host string, unchecked bool) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/v2/", nil)
	if err != nil {
		return err
	}
	client := http.Client{
		Transport: t.of(host, unchecked), Timeout: t.stall,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (t *transport) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.hosts {
		h.CloseIdleConnections()
	}
}

// errStalled ends a response that has stalled.
var errStalled = errors.New("the registry has stopped sending data, or sends too slowly")

// slowest is the least rate of a body, in bytes per second. Without it, a registry that sends a
// byte from time to time would never let an operation end.
const slowest = 4 << 10

// watched is a body whose reading fails after a long pause, and if it arrives slower than
// slowest. Time between two calls of Read does not count.
type watched struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request, which lives as long as its body
	cancel context.CancelCauseFunc
	stall  time.Duration // in which a body must send what slowest demands

	waited time.Duration // since the body has sent so much
	sent   int           // meanwhile, in bytes
}

func (w *watched) Read(p []byte) (int, error) {
	began := time.Now()
	timer := time.AfterFunc(w.stall-w.waited, func() { w.cancel(errStalled) })
	n, err := w.ReadCloser.Read(p)
	timer.Stop()
	w.waited, w.sent = w.waited+time.Since(began), w.sent+n
	if float64(w.sent) >= slowest*w.stall.Seconds() {
		w.waited, w.sent = 0, 0
	}
	if err != nil && errors.Is(context.Cause(w.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}

func (w *watched) Close() error {
	defer w.cancel(context.Canceled)
	return w.ReadCloser.Close()
}
