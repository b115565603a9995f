package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/webhooks/certificates"
	"github.com/kopf-wasm/kopf/webhooks/wire"
)

// Limits of connections. The limits of reviews are in Limits.
const (
	headerTimeout = 5 * time.Second // also for the TLS handshake
	readTimeout   = 15 * time.Second
	writeTimeout  = 45 * time.Second // counts from the head of the request: longer than any review
	idleTimeout   = 2 * time.Minute
	exitTimeout   = 5 * time.Second

	headerSize = 32 << 10 // API servers need less than 1 KiB
)

// newServer creates a server that slow clients cannot keep busy, and whose connections one
// client cannot exhaust.
func (s *LocalServer) newServer(handler http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: s.routed(handler), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerSize, ConnContext: conns.Context,
		Protocols: &protocols, ErrorLog: stdlog.New(debugWriter{newComplaints(s.env.Log)}, "", 0),
	}
}

// bounded wraps a listener to accept connections within the limits, with TLS unless the
// configuration is nil.
func (s *LocalServer) bounded(listener net.Listener, config *tls.Config) (net.Listener, error) {
	if config == nil {
		return conns.New(s.env.Connections).Listener(listener), nil
	}
	limits := s.env.Connections
	if config.ClientAuth == tls.RequireAndVerifyClientCert && limits.Unproven == 0 {
		limits.Unproven = cmp.Or(limits.Total, conns.DefaultTotal) / 4
	}
	return conns.New(limits).Secure(listener, config)
}

// Serve listens, announces the client config, and serves until the context ends.
func (s *LocalServer) Serve(ctx context.Context, handler http.Handler, announce func(ClientConfig)) error {
	if s.Detect && s.Host == "" {
		host, err := s.env.detect(ctx)
		if err != nil {
			return err
		}
		s.Host = host
	}
	source, err := s.source()
	if err != nil {
		return err
	}
	first, err := source.Load(ctx)
	if err != nil {
		return err
	}
	config, err := s.tlsConfig()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{Control: deferAccept}).Listen(ctx, "tcp", net.JoinHostPort(s.Addr, strconv.Itoa(s.Port)))
	if err != nil {
		return fmt.Errorf("the webhook server: %w", err)
	}
	run := &session{LocalServer: s, config: config, source: source, announce: announce}
	return run.serve(ctx, listener, first, handler)
}

// session is one run of a server, which adopts new certificates.
type session struct {
	*LocalServer
	config   *tls.Config // nil: HTTP
	source   certificates.Source
	announce func(ClientConfig)

	port    int
	current atomic.Pointer[tls.Certificate]
	clients atomic.Pointer[tls.Config] // with the newest authorities of clients; nil: with the first ones
}

// serve serves on a listener until the context ends, with a first certificate.
func (s *session) serve(ctx context.Context, listener net.Listener, first *certificates.Pair, handler http.Handler) error {
	s.port = listener.Addr().(*net.TCPAddr).Port
	follows := s.renewable()
	bounded, err := s.bounded(listener, s.config)
	if err != nil {
		return errors.Join(fmt.Errorf("the webhook server: %w", err), listener.Close())
	}
	server := wire.New(s.newServer(handler))
	if err := s.dump(first.Authorities); err != nil {
		return errors.Join(err, bounded.Close())
	}
	s.adopt(first)
	s.env.Log.Debug().Msg(fmt.Sprintf("Listening for webhooks at %s", s.url(cmp.Or(s.Addr, "*"), s.port)))
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { // Waited for below.
		certificates.Watch(watching, s.source, first, s.env.Log, s.update)
	})
	if follows {
		watcher.Go(func() { s.watchClients(watching, s.config, s.clients.Store) }) // Waited for below.
	}
	defer watcher.Wait()
	defer stop()
	return serveUntil(ctx, server, bounded)
}

// renewable lets connections use the newest certificate, and the newest authorities of clients. It reports whether the server has to look
// for these.
func (s *session) renewable() (follows bool) {
	if s.config == nil {
		return false
	}
	if s.TLS == nil {
		s.config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.current.Load(), nil }
	}
	if s.config.GetConfigForClient != nil || s.VerifyCAFile == "" && s.VerifyCAPath == "" {
		return false
	}
	s.config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.clients.Load(), nil }
	return true
}

// adopt uses a certificate from now on, and announces its authorities.
func (s *session) adopt(next *certificates.Pair) {
	s.current.Store(next.Certificate)
	s.env.expires(next.Certificate)
	s.announce(s.clientConfig(s.port, next.Authorities))
}

// update adopts a new certificate.
func (s *session) update(next *certificates.Pair) error {
	s.adopt(next) // whatever becomes of the file: it would not be tried again
	return s.dump(next.Authorities)
}

// serveUntil serves until the context ends, then finishes the running requests.
func serveUntil(ctx context.Context, server *wire.Server, listener net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }() // Waited for below.
	select {
	case err := <-ended:
		return fmt.Errorf("the webhook server: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), exitTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		_ = server.Close() // the grace period is over: this ends the remaining requests
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the webhook server: %w", err)
	}
	return nil
}

// routed removes the server's path prefix from the paths of requests.
func (s *LocalServer) routed(handler http.Handler) http.Handler {
	root := strings.TrimRight(s.root(), "/")
	if root == "" {
		return handler
	}
	below := http.StripPrefix(root, handler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // no http.ServeMux, for which a path can be an invalid pattern
		if strings.HasPrefix(r.URL.Path, root+"/") {
			below.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("404: Not Found")) // the client may have disconnected
	})
}

// clientConfig tells the API server how to reach the server.
func (s *LocalServer) clientConfig(port int, bundle []byte) ClientConfig {
	config := ClientConfig{CABundle: base64.StdEncoding.EncodeToString(bundle)}
	if s.Service != nil {
		service := *s.Service
		if path := strings.TrimRight(s.root(), "/"); path != "" && service.Path == nil {
			service.Path = &path
		}
		config.Service = &service
		return config
	}
	target := s.url(s.hostName(), port)
	config.URL = &target
	s.env.Log.Debug().Msg("Accessing the webhooks at " + target)
	return config
}

func (s *LocalServer) url(host string, port int) string {
	scheme := "https"
	if s.Insecure {
		scheme = "http"
	}
	return buildURL(scheme, host, port, s.root())
}

// root is the prefix of the handlers' paths, with a leading slash unless it is empty.
func (s *LocalServer) root() string {
	if s.Path == "" || strings.HasPrefix(s.Path, "/") {
		return s.Path
	}
	return "/" + s.Path
}

// hostName is the host name for the API server.
func (s *LocalServer) hostName() string {
	if s.Host != "" {
		return s.Host
	}
	return accessible(s.Addr)
}

// names are the names of a generated certificate.
func (s *LocalServer) names() []string {
	names := []string{s.hostName(), accessible(s.Addr)}
	if s.Service != nil {
		name := s.Service.Name + "." + s.Service.Namespace
		names = []string{name + ".svc", name, name + ".svc.cluster.local"}
	}
	return append(names, s.ExtraSANs...)
}

// debugWriter logs the messages of the HTTP server about bad connections.
type debugWriter struct{ log *complaints }

func (w debugWriter) Write(line []byte) (int, error) {
	w.log.debug("connection", cut(strings.TrimSpace(string(line))))
	return len(line), nil
}
