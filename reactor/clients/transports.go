package clients

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"golang.org/x/net/http/httpproxy"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/kopf-wasm/kopf/reactor/clients/wire"
)

// transports are shared by the clients of the process that connect in the same way, so that
// operators of one process have few connections. Tokens and impersonation belong to each
// request, and client certificates to the way of connecting.
//
// See RATIONALE.md, "Why do operators of one process share connections?".
var transports = transportSet{items: map[way]weak.Pointer[base]{}} //nolint:gochecknoglobals // see above

// base is a shared transport. It stays as long as a connection refers to it.
type base struct {
	http.RoundTripper
	opening *opening // nil: requests do not share a connection
	watches *places  // nil: watches are other requests' affair
}

// maxApart is how many watches of a server have connections of their own.
const maxApart = 8

// places are those of watches with connections of their own. Nil has none.
type places struct{ taken atomic.Int32 }

// take takes a place; false if none is left.
func (p *places) take() bool {
	if p == nil {
		return false
	}
	if p.taken.Add(1) <= maxApart {
		return true
	}
	p.taken.Add(-1)
	return false
}

func (p *places) leave() { p.taken.Add(-1) }

// way is everything that decides about a connection, except its credentials in headers.
type way struct {
	host, server           string
	insecure, uncompressed bool
	protocols              string
	files                  [sha256.Size]byte // certificates and keys, by name and content
	timeout                time.Duration
	trustEnv               bool
	proxies                httpproxy.Config // of the environment
}

// wayOf returns the way of a configuration; false if it has functions of its own.
func wayOf(cfg *rest.Config, timeout time.Duration, o Options, protocols []string) (way, bool) {
	if cfg.Transport != nil || cfg.WrapTransport != nil || cfg.Dial != nil || cfg.Proxy != nil || cfg.ExecProvider != nil || cfg.AuthProvider != nil {
		return way{}, false
	}
	w := way{
		host: cfg.Host, server: cfg.ServerName, insecure: cfg.Insecure, uncompressed: cfg.DisableCompression,
		protocols: strings.Join(slices.Concat(cfg.NextProtos, []string{anyProtocol}, protocols), ","), timeout: timeout, trustEnv: o.TrustEnv,
	}
	if o.TrustEnv {
		w.proxies = *httpproxy.FromEnvironment()
	}
	sum := sha256.New()
	for _, data := range [][]byte{cfg.CAData, cfg.CertData, cfg.KeyData} {
		fmt.Fprintf(sum, "%d:%s", len(data), data)
	}
	for _, file := range []string{cfg.CAFile, cfg.CertFile, cfg.KeyFile} {
		data, err := os.ReadFile(file)
		if err != nil && file != "" {
			return way{}, false // the transport reports it
		}
		fmt.Fprintf(sum, "%q %d:%s", file, len(data), data)
	}
	w.files = [sha256.Size]byte(sum.Sum(nil))
	return w, true
}

// multiplexed reports whether requests share a connection if the server speaks HTTP/2.
func (w *way) multiplexed() bool { return w.protocols == anyProtocol }

// anyProtocol are the protocols of a way that excludes none, see wayOf.
const anyProtocol = "|"

// http11 is the protocol of writes.
const http11 = "http/1.1"

// transportSet holds transports while they are used.
type transportSet struct {
	mu    sync.Mutex // guards items
	items map[way]weak.Pointer[base]
}

// get returns the transport of a way, and makes it at the first use.
func (s *transportSet) get(w way, make func() (http.RoundTripper, error)) (*base, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for known, item := range s.items {
		if item.Value() == nil {
			delete(s.items, known)
		}
	}
	if b := s.items[w].Value(); b != nil {
		return b, nil
	}
	rt, err := make()
	if err != nil {
		return nil, err
	}
	b := &base{RoundTripper: rt}
	if w.multiplexed() {
		b.opening = newOpening()
	}
	if _, own := rt.(*wire.Transport); own {
		b.watches = &places{}
	}
	s.items[w] = weak.Make(b)
	return b, nil
}

// httpClient makes a client for requests with the credentials, over connections that others
// share if possible. The places are those of watches; nil: there are none.
func httpClient(cfg *rest.Config, timeout time.Duration, o Options, protocols ...string) (*http.Client, *places, error) {
	w, shared := wayOf(cfg, timeout, o, protocols)
	own := connecting(cfg, timeout, o)
	if len(protocols) > 0 {
		own.NextProtos = protocols
	}
	if !shared {
		client, err := rest.HTTPClientFor(own)
		return client, nil, err
	}
	tc, err := own.TransportConfig()
	if err != nil {
		return nil, nil, err
	}
	b, err := transports.get(w, func() (http.RoundTripper, error) {
		rt, err := transport.New(&transport.Config{TLS: tc.TLS, DialHolder: tc.DialHolder, Proxy: tc.Proxy, DisableCompression: tc.DisableCompression})
		if err != nil || !slices.Equal(own.NextProtos, []string{http11}) {
			return rt, err
		}
		return direct(rt, own)
	})
	if err != nil {
		return nil, nil, err
	}
	tc.UserAgent = cmp.Or(tc.UserAgent, product)
	rt, err := transport.HTTPWrappersForConfig(tc, b)
	return &http.Client{Transport: rt}, b.watches, err
}

// direct returns a transport that sends requests on the goroutines of callers, unless a proxy is
// between the server and this machine.
func direct(rt http.RoundTripper, cfg *rest.Config) (http.RoundTripper, error) {
	server, err := serverOf(cfg)
	if err != nil {
		return nil, err
	}
	if proxy, err := cfg.Proxy(&http.Request{URL: server}); err != nil || proxy != nil {
		return rt, nil //nolint:nilerr // the transport reports it
	}
	return wire.New(rt, server), nil
}

// RoundTrip sends a request.
func (b *base) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.opening == nil {
		return b.RoundTripper.RoundTrip(r)
	}
	return b.opening.roundTrip(b.RoundTripper, r)
}

// CloseIdleConnections closes connections without requests. The wrappers of client-go look
// for this method.
func (b *base) CloseIdleConnections() {
	utilnet.CloseIdleConnectionsFor(b.RoundTripper)
}
