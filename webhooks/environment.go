package webhooks

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// LocalHost is the name of this machine inside a local cluster. It is derived from the
// certificate of the API server or from its version, and is empty for other clusters.
//
// Kopf: kopf._kits.webhooks.ClusterDetector.guess_host.
func LocalHost(cert *x509.Certificate, version string) string {
	if cert != nil {
		subject, issuer := cert.Subject.CommonName, cert.Issuer.CommonName
		switch {
		case subject == "k3s" || slices.Contains(cert.Subject.Organization, "k3s") || strings.HasPrefix(issuer, "k3s-"):
			return K3dHost
		case subject == "minikube" || issuer == "minikubeCA":
			return MinikubeHost
		case slices.Contains(cert.DNSNames, "docker-for-desktop"):
			return DockerDesktopHost
		}
	}
	if strings.Contains(version, "+k3s") {
		return K3dHost
	}
	return ""
}

// detect finds the name of this machine.
func (e Environment) detect(ctx context.Context) (string, error) {
	if e.Detect == nil {
		return "", nil
	}
	host, err := e.Detect(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("detecting the type of the cluster: %w", err)
	case host == "":
		e.Log.Debug().Msg("Cluster detection failed.")
	default:
		e.Log.Debug().Msg("Cluster detection found the hostname: " + host)
	}
	return host, nil
}

// AutoTunnel is a local server if the cluster has a name for this machine. Otherwise, it is
// a tunnel.
//
// Kopf: kopf.WebhookAutoTunnel (v1.45).
type AutoTunnel struct {
	Local  LocalServer
	Tunnel NgrokTunnel

	env Environment
}

func (s AutoTunnel) bind(env Environment) Server {
	s.env = env
	return &s
}

// Serve chooses between the server and the tunnel, and serves.
func (s *AutoTunnel) Serve(ctx context.Context, handler http.Handler, announce func(ClientConfig)) error {
	host, err := s.env.detect(ctx)
	if err != nil {
		return err
	}
	if host == "" {
		return s.Tunnel.bind(s.env).Serve(ctx, handler, announce)
	}
	s.Local.Host = host
	return s.Local.bind(s.env).Serve(ctx, handler, announce)
}
