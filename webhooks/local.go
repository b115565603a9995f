package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/conns"
)

// LocalServer is an HTTPS server in this process. The zero value listens on a free
// port of all interfaces, with a certificate that is generated for the occasion.
//
// Kopf: kopf.WebhookServer (v1.45).
type LocalServer struct {
	Addr string // where to listen; empty: all interfaces
	Port int    // 0: any free one
	Path string // before the ids of handlers; empty: none

	// Host is how the API server reaches this machine; Addr by default. Detect asks
	// for the usual name on the machine of a local cluster, if it is one.
	Host   string
	Detect bool

	// Service is named to the API server instead of a URL: a service that leads to
	// the port.
	Service *Service

	// CAData or CAFile is named to the API server as the authority that has signed
	// the certificate of the server (PEM). By default it is CertFile, or what was
	// generated. CADump is a file that gets whatever is named.
	CAData []byte
	CAFile string
	CADump string

	Insecure bool        // HTTP: for tunnels, and for debugging
	TLS      *tls.Config // instead of all below

	CertFile, KeyFile string        // of the server (PEM); they are read again when they change
	Password          string        // of KeyFile
	FileCheckInterval time.Duration // how often to look at the files; a minute by default

	// Secret keeps a generated authority and certificate, which all replicas of an
	// operator use and renew.
	Secret *SecretRef

	ExtraSANs []string // more names for a generated certificate

	// Verify says what is wanted of certificates of clients, and the others, which
	// authorities they are from: files, folders, or PEM.
	Verify                     VerifyMode
	VerifyCAFile, VerifyCAPath string
	VerifyCAData               []byte

	env Environment
}

// VerifyMode is what a server wants of its clients.
type VerifyMode string

// The modes. The default is VerifyNone without authorities, else VerifyOptional.
const (
	VerifyNone     VerifyMode = "none"
	VerifyOptional VerifyMode = "optional"
	VerifyRequired VerifyMode = "required"
)

// Environment is what servers of this package know of their operator.
type Environment struct {
	Cluster Cluster
	Log     zerolog.Logger

	// Detect finds the name of this machine inside of a local cluster; empty if the
	// cluster is none.
	Detect func(ctx context.Context) (string, error)

	Expires func(notAfter time.Time) // is called for each certificate; may be nil

	Connections conns.Limits // of servers
}

func (e Environment) expires(cert *tls.Certificate) {
	if e.Expires != nil && cert != nil && cert.Leaf != nil {
		e.Expires(cert.Leaf.NotAfter)
	}
}

// bind tells the servers of this package about their operator. Servers that are made
// of them, by embedding, are not asked: they decide themselves.
func bind(server Server, env Environment) Server {
	switch s := server.(type) {
	case *LocalServer:
		return s.bind(env)
	case *NgrokTunnel:
		return s.bind(env)
	case *AutoTunnel:
		return s.bind(env)
	}
	return server
}

func (s LocalServer) bind(env Environment) Server {
	s.env = env
	return &s
}

func (s *LocalServer) hasOwnTLS() bool { return s.TLS != nil }

// source is where the certificate is from.
func (s *LocalServer) source() (source, error) {
	switch {
	case s.Insecure && (s.TLS != nil || s.CertFile != "" || s.Secret != nil):
		return nil, errors.New("the webhook server: insecure excludes certificates")
	case (s.CertFile == "") != (s.KeyFile == ""):
		return nil, errors.New("the webhook server: certfile and pkeyfile are only together of use")
	case s.Secret != nil && s.CertFile != "":
		return nil, errors.New("the webhook server: either certfile or secret can be given, not both")
	case s.Insecure, s.TLS != nil:
		return fixed{s.givenBundle}, nil
	case s.CertFile != "":
		return &files{cert: s.CertFile, key: s.KeyFile, password: s.Password, ca: s.CAFile, bundle: s.givenBundle, interval: s.FileCheckInterval}, nil
	case s.Secret != nil:
		return &shared{ref: *s.Secret, names: s.names(), cluster: s.env.Cluster, schedule: defaultSchedule}, nil
	}
	return &generated{names: s.names(), schedule: defaultSchedule}, nil
}

// givenBundle is the authority that is named by the options; nil if none is.
func (s *LocalServer) givenBundle() ([]byte, error) {
	if s.CAData != nil || s.CAFile == "" {
		return s.CAData, nil
	}
	bundle, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cafile of the webhook server: %w", err)
	}
	return bundle, nil
}

func (s *LocalServer) dump(bundle []byte) error {
	if s.CADump == "" || bundle == nil {
		return nil
	}
	if err := os.WriteFile(s.CADump, bundle, 0o644); err != nil { //nolint:gosec // it is public
		return fmt.Errorf("cadump of the webhook server: %w", err)
	}
	return nil
}

// tlsConfig is that of the listener; nil for HTTP.
func (s *LocalServer) tlsConfig() (*tls.Config, error) {
	if s.Insecure {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	config.NextProtos = []string{"http/1.1"} // what API servers speak to webhooks; HTTP/2 would multiply what a connection can ask for
	roots, err := s.clientRoots()
	if err != nil {
		return nil, err
	}
	if roots != nil {
		config.ClientCAs, config.ClientAuth = roots, tls.VerifyClientCertIfGiven
	}
	switch s.Verify {
	case "":
	case VerifyNone:
		if roots == nil {
			config.ClientAuth = tls.NoClientCert
		}
	case VerifyOptional:
		config.ClientAuth = tls.VerifyClientCertIfGiven
	case VerifyRequired:
		if config.ClientCAs == nil {
			return nil, errors.New("verify_mode required: there are no authorities of clients")
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	default:
		return nil, fmt.Errorf("verify_mode %q: want none, optional or required", s.Verify)
	}
	return config, nil
}

// clientRoots are the authorities of clients; nil if there are none.
func (s *LocalServer) clientRoots() (*x509.CertPool, error) {
	texts := map[string][]byte{}
	if s.VerifyCAData != nil {
		texts["verify_cadata"] = s.VerifyCAData
	}
	paths := []string{}
	if s.VerifyCAFile != "" {
		paths = append(paths, s.VerifyCAFile)
	}
	if s.VerifyCAPath != "" {
		entries, err := os.ReadDir(s.VerifyCAPath)
		if err != nil {
			return nil, fmt.Errorf("verify_capath: %w", err)
		}
		for _, entry := range entries {
			if !entry.IsDir() {
				paths = append(paths, filepath.Join(s.VerifyCAPath, entry.Name()))
			}
		}
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("authorities of clients: %w", err)
		}
		texts[path] = text
	}
	if len(texts) == 0 {
		return nil, nil
	}
	roots := x509.NewCertPool()
	for name, text := range texts {
		certs, err := parseCertificates(text)
		if err != nil {
			return nil, fmt.Errorf("authorities of clients: %s: %w", name, err)
		}
		for _, cert := range certs {
			roots.AddCert(cert)
		}
	}
	return roots, nil
}

func encodeBundle(bundle []byte) string { return base64.StdEncoding.EncodeToString(bundle) }
