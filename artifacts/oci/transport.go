package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/oci/layout"
	"github.com/kopf-wasm/kopf/artifacts/oci/sources"
)

// transport sends the requests to a registry, and to whichever hosts it redirects
// to, each with the certificates that are trusted for it.
//
// Plain HTTP goes to hosts that are listed as insecure, and to a registry on this machine that was
// asked for and has answered TLS without TLS. No other host is spoken to without TLS,
// whatever names it: a redirect, or the address of a token service.
type transport struct {
	sources *sources.Sources
	stall   time.Duration

	mu      sync.Mutex // guards what follows
	hosts   map[string]*http.Transport
	schemes map[string]bool // hosts to whether they speak plain HTTP
}

func newTransport(s *sources.Sources, stall time.Duration) *transport {
	return &transport{sources: s, stall: stall, hosts: map[string]*http.Transport{}, schemes: map[string]bool{}}
}

// toward is the transport of the requests for one registry, by its host.
type toward struct {
	*transport
	host string
}

// RoundTrip sends a request. The body of the response ends with an error if
// nothing comes for too long, and, unless it is a blob, if it has too many values for a decoder.
//
// Errors: ErrLayout of bodies with too many values.
func (t toward) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !t.mayBePlain(req.URL.Host) {
		return nil, fmt.Errorf("%s is not to be reached without TLS: list it in insecure_sources of sources.yaml if it is", req.URL.Host)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	resp, err := t.of(req.URL.Host, false).RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(err)
		return nil, err
	}
	body := &watched{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, stall: t.stall}
	if resp.Body = body; !isBlob(req) {
		resp.Body = document{layout.ValuesReader(body), body}
	}
	return resp, nil
}

// document is a body that is decoded as JSON: see layout.ValuesReader.
type document struct {
	io.Reader
	io.Closer
}

// isBlob tells whether a blob was asked for, by this request or by the one that was redirected to it. All else is
// JSON, and small.
func isBlob(req *http.Request) bool {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return path.Base(path.Dir(req.URL.Path)) == "blobs"
}

// mayBePlain tells whether a host may be spoken to without TLS.
func (t toward) mayBePlain(host string) bool {
	if t.sources.Insecure(host) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return host == t.host && t.schemes[host]
}

// loopback tells whether a host is this machine by its name or address.
func loopback(host string) bool {
	name := hostname(host)
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// hostname is a host without its port, if any.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// dialer connects to a host. One that is this machine by its name must be so by its address: who
// answers for the name is not known.
func dialer(host string) *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if loopback(host) {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			if !loopback(address) {
				return fmt.Errorf("%s stands for %s, which is not this machine", hostname(host), hostname(address))
			}
			return nil
		}
	}
	return d
}

// maxHeader bounds the header of a response, in bytes. The longest that registries send are addresses with signatures.
const maxHeader = 256 << 10

// of is the transport of one host; unchecked does not verify certificates.
func (t *transport) of(host string, unchecked bool) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.hosts[host]; found != nil && !unchecked {
		return found
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: unchecked} // of hosts in insecure_sources only
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
	made := &http.Transport{
		Proxy:                 t.sources.Proxy(),
		DialContext:           dialer(host).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: t.stall,
		IdleConnTimeout:       30 * time.Second,

		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    4,
		ForceAttemptHTTP2:      true,
	}
	t.hosts[host] = made
	return made
}

// plain finds out how to speak to a registry. Those that are not allowed to be
// insecure speak TLS. The others are asked: TLS with a trusted certificate comes first, then,
// if the host is listed, any certificate. Only a host that answers TLS with something else
// speaks plain HTTP. One that does not answer is asked again the next time.
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

// answersWithoutTLS tells whether a host has answered a handshake with something else.
func answersWithoutTLS(err error) bool {
	var header tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &header)
}

// probe asks for nothing in particular by TLS.
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

// errStalled ends a response that does not go on.
var errStalled = errors.New("the registry sends nothing any more")

// watched is a body that is given up when nothing comes for too long.
type watched struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // of the request, which lives as long as its body
	cancel context.CancelCauseFunc
	stall  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	timer := time.AfterFunc(w.stall, func() { w.cancel(errStalled) })
	n, err := w.ReadCloser.Read(p)
	timer.Stop()
	if err != nil && errors.Is(context.Cause(w.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}

func (w *watched) Close() error {
	defer w.cancel(context.Canceled)
	return w.ReadCloser.Close()
}
