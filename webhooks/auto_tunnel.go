package webhooks

import (
	"context"
	"net/http"
)

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
