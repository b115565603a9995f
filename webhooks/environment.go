package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/conns"
)

// Environment is what a server of this package knows of its operator.
type Environment struct {
	Cluster Cluster
	Log     zerolog.Logger

	// Detect finds the name of this machine inside a local cluster. It returns an empty name
	// for other clusters.
	Detect func(ctx context.Context) (string, error)

	Expires func(notAfter time.Time) // called for each certificate; may be nil

	Connections conns.Limits // of servers
}

func (e Environment) expires(cert *tls.Certificate) {
	if e.Expires != nil && cert != nil && cert.Leaf != nil {
		e.Expires(cert.Leaf.NotAfter)
	}
}

// bind gives the environment to the servers of this package. Servers that embed them keep
// their own environment.
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

// Host names by which local clusters reach the machine that runs them.
const (
	K3dHost           = "host.k3d.internal"
	MinikubeHost      = "host.minikube.internal"
	DockerDesktopHost = "host.docker.internal"
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
