package endpoints

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/conns"
)

// Options configure the servers of the endpoints.
type Options struct {
	// Addresses are where the endpoints are served: 127.0.0.1:8080, :8443. Loopback addresses
	// are served by HTTP without authentication, all others by HTTPS with authentication.
	Addresses []string

	// Certificate and Key are files in PEM for HTTPS, which are read again when they change.
	// If they are empty, the host makes a certificate that no client can verify.
	Certificate, Key string

	Config  *rest.Config // of the host, for reviews
	Version string       // of the host, for people
	Log     zerolog.Logger
}

// Servers serve the endpoints.
type Servers struct {
	endpoints *Endpoints
	servers   []*http.Server
	addresses []string
	serving   sync.WaitGroup // counts the servers
}

// Serve begins to serve the endpoints of a host.
//
// Errors name the address or the file at fault.
func Serve(ctx context.Context, source Source, o Options) (*Servers, error) {
	s := &Servers{endpoints: New(source, o.Version)}
	for _, address := range o.Addresses {
		if err := s.serve(ctx, address, &o); err != nil {
			s.Close()
			return nil, fmt.Errorf("--listen %s: %w", address, err)
		}
	}
	return s, nil
}

// Addresses returns where the endpoints are served, with the ports that the system has chosen.
func (s *Servers) Addresses() []string { return s.addresses }

// Close ends all requests and servers.
func (s *Servers) Close() {
	s.endpoints.Close()
	for _, server := range s.servers {
		_ = server.Close() // its listener may be closed already
	}
	s.serving.Wait()
}

func (s *Servers) serve(ctx context.Context, address string, o *Options) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	var access *Access
	var secure *tls.Config
	if !isLoopback(host) {
		if access, err = newAccess(o.Config); err != nil {
			return err
		}
		if secure, err = o.secure(); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	if bound, ok := listener.Addr().(*net.TCPAddr); access == nil && (!ok || !bound.IP.IsLoopback()) { // localhost may be a name of anything
		return errors.Join(fmt.Errorf("the name leads to %s: want 127.0.0.1 or [::1]", listener.Addr()), listener.Close())
	}
	o.Log.Info().Str("logger", "kopf.hosting").Str("address", listener.Addr().String()).Bool("authentication", access != nil).Msg(fmt.Sprintf("The status page is served at %s.", listener.Addr()))
	server := conns.Server(s.endpoints.Handler(access))
	bounds := conns.New(conns.Small)
	listener = bounds.Listener(listener)
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	s.servers, s.addresses = append(s.servers, server), append(s.addresses, listener.Addr().String())
	s.serving.Go(func() { // Waited for by Close.
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error().Str("logger", "kopf.hosting").Err(err).Msg("The status page cannot be served any more.")
		}
	})
	return nil
}

// secure returns the configuration of HTTPS.
func (o *Options) secure() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if o.Certificate == "" {
		own, err := ownCertificate()
		config.Certificates = []tls.Certificate{own}
		return config, err
	}
	f := &files{certificate: o.Certificate, key: o.Key, log: o.Log}
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.get() }
	_, err := f.get()
	return config, err
}

// files are a certificate and its key, which may be replaced.
type files struct {
	certificate, key string
	log              zerolog.Logger

	mu      sync.Mutex // guards the fields below
	loaded  *tls.Certificate
	state   string // of the files that were loaded
	problem string // that was logged; empty: none
}

// get reads the files if they have changed. If they cannot be read then, the earlier
// certificate stays, and they are read again at the next call.
func (f *files) get() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state := ""
	for _, name := range []string{f.certificate, f.key} {
		if info, err := os.Stat(name); err == nil {
			state += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	if f.loaded != nil && state == f.state {
		return f.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
	switch {
	case err == nil:
		f.loaded, f.state, f.problem = &pair, state, ""
	case f.loaded == nil:
		return nil, fmt.Errorf("the certificate: %w", err)
	case err.Error() != f.problem:
		f.problem = err.Error()
		f.log.Error().Str("logger", "kopf.hosting").Err(err).Msg("The new certificate of the status page cannot be read; the earlier one is used.")
	}
	return f.loaded, nil
}

// ownCertificate makes a certificate for probes and scrapers, which do not verify it.
func ownCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "kopf-serve"}, DNSNames: []string{"kopf-serve"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
