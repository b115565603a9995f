package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kopf-wasm/kopf/webhooks/certificates"
)

// LocalServer is an HTTPS server in this process. The zero value listens on a free port of
// all interfaces, with a generated certificate.
//
// Kopf: kopf.WebhookServer (v1.45).
type LocalServer struct {
	Addr string // listen address; empty: all interfaces
	Port int    // 0: any free one
	Path string // prefix of the handlers' paths; may be empty

	// Host is the host name for the API server. The default is Addr. Detect uses the name of
	// this machine in a local cluster, if there is one.
	Host   string
	Detect bool

	// Service replaces the URL for the API server: a service that leads to the port.
	Service *Service

	// CAData or CAFile is the certificate authority (PEM) that the API server uses to verify
	// the server. The default is CertFile, or the generated authority. The server writes the
	// authority in use to the file CADump.
	CAData []byte
	CAFile string
	CADump string

	Insecure bool        // HTTP: for tunnels, and for debugging
	TLS      *tls.Config // replaces all fields below

	CertFile, KeyFile string        // of the server (PEM); the server reads them again when they change
	Password          string        // of KeyFile
	FileCheckInterval time.Duration // interval between two checks of the files; default: one minute

	// Secret stores the generated authority and certificate. All replicas of an operator
	// share and renew them.
	Secret *certificates.SecretRef

	ExtraSANs []string // additional names for the generated certificate

	// Verify is the mode of verification of client certificates. The other fields name the
	// authorities of clients: files, directories, or PEM. The server reads the files again when they
	// change.
	Verify                     VerifyMode
	VerifyCAFile, VerifyCAPath string
	VerifyCAData               []byte

	env Environment
}

// VerifyMode says whether clients must present a certificate.
type VerifyMode string

// The modes of verification. The default is VerifyNone without authorities of clients, else
// VerifyOptional.
const (
	VerifyNone     VerifyMode = "none"
	VerifyOptional VerifyMode = "optional"
	VerifyRequired VerifyMode = "required"
)

func (s LocalServer) bind(env Environment) Server {
	s.env = env
	return &s
}

// source returns the source of the certificate.
func (s *LocalServer) source() (certificates.Source, error) {
	switch {
	case s.Insecure && (s.TLS != nil || s.CertFile != "" || s.Secret != nil || s.verifies()):
		return nil, errors.New("the webhook server: insecure excludes certificates")
	case (s.CertFile == "") != (s.KeyFile == ""):
		return nil, errors.New("the webhook server: certfile and pkeyfile must be set together")
	case s.Secret != nil && s.CertFile != "":
		return nil, errors.New("the webhook server: either certfile or secret can be given, not both")
	case s.Insecure, s.TLS != nil:
		return certificates.Fixed{Authorities: s.givenBundle}, nil
	case s.CertFile != "":
		return &certificates.Files{Certificate: s.CertFile, Key: s.KeyFile, Password: s.Password, Authorities: s.givenBundle, Interval: s.FileCheckInterval}, nil
	case s.Secret != nil:
		return &certificates.Shared{Secret: *s.Secret, Names: s.names(), Cluster: s.env.Cluster, Schedule: certificates.DefaultSchedule}, nil
	}
	return &certificates.Generated{Names: s.names(), Schedule: certificates.DefaultSchedule}, nil
}

// verifies reports whether the options ask for certificates of clients.
func (s *LocalServer) verifies() bool {
	return s.Verify == VerifyOptional || s.Verify == VerifyRequired || s.VerifyCAFile != "" || s.VerifyCAPath != "" || s.VerifyCAData != nil
}

// givenBundle returns the authority that the options name, or nil.
func (s *LocalServer) givenBundle() ([]byte, error) {
	if s.CAData != nil || s.CAFile == "" {
		return s.CAData, nil
	}
	bundle, err := certificates.ReadFile(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cafile of the webhook server: %w", err)
	}
	return bundle, nil
}

func (s *LocalServer) dump(bundle []byte) error {
	if s.CADump == "" || bundle == nil {
		return nil
	}
	if err := os.WriteFile(s.CADump, bundle, 0o644); err != nil { //nolint:gosec // it holds no secret
		return fmt.Errorf("cadump of the webhook server: %w", err)
	}
	return nil
}

// tlsConfig is the configuration of the listener; nil for HTTP.
func (s *LocalServer) tlsConfig() (*tls.Config, error) {
	if s.Insecure {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	config.NextProtos = []string{"http/1.1"} // API servers use HTTP/1.1 for webhooks; HTTP/2 would multiply the requests of one connection
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
		if config.ClientCAs == nil {
			config.ClientCAs = x509.NewCertPool() // nil means those of the system, so anybody with a public certificate
		}
		config.ClientAuth = tls.VerifyClientCertIfGiven
	case VerifyRequired:
		if config.ClientCAs == nil {
			return nil, errors.New("verify_mode required: no certificate authorities of clients are set: add verify_cafile, verify_capath or verify_cadata")
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	default:
		return nil, fmt.Errorf("verify_mode %q: want none, optional or required", s.Verify)
	}
	return config, nil
}

// clientRoots returns the certificate authorities of clients, or nil.
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
		text, err := certificates.ReadFile(path)
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
		certs, err := certificates.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("authorities of clients: %s: %w", name, err)
		}
		for _, cert := range certs {
			roots.AddCert(cert)
		}
	}
	return roots, nil
}

// watchClients reads the authorities of clients again, until the context ends, and passes on the configuration with others than before.
// What cannot be read changes nothing.
func (s *LocalServer) watchClients(ctx context.Context, first *tls.Config, adopt func(*tls.Config)) {
	present := first.ClientCAs
	certificates.Repeatedly(ctx, cmp.Or(s.FileCheckInterval, certificates.DefaultInterval), func() {
		roots, err := s.clientRoots()
		if err == nil && roots == nil {
			err = errors.New("there are none any more")
		}
		switch {
		case err != nil:
			s.env.Log.Error().Msg(fmt.Sprintf("The authorities of clients of the webhook server cannot be renewed: %v", err))
		case !roots.Equal(present):
			present = roots
			next := first.Clone()
			next.ClientCAs = roots
			adopt(next)
			s.env.Log.Info().Msg("The authorities of clients of the webhook server are renewed.")
		}
	})
}
