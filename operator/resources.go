package operator

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Resources returns the resources of the cluster of the current context, or of the cluster that this program runs in.
//
// Errors: there are no credentials, or the API server does not answer. Resources of groups that do not answer are absent.
func Resources(ctx context.Context, log zerolog.Logger) ([]selectors.Resource, error) {
	return ResourcesAs(ctx, nil, log)
}

// ResourcesAs returns the resources of the cluster of a login. Without a login, it is Resources.
func ResourcesAs(ctx context.Context, login Login, log zerolog.Logger) ([]selectors.Resource, error) {
	own, err := credentials.FromHost(ctx, logins(login), log)
	if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	if len(own) == 0 {
		return nil, credentials.ErrNone
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client := clients.ForCommand(ctx, own, clients.UserAgent(version(), ""), log)
	resources, err := discovery.Scan(ctx, client.Discover)
	if resources != nil {
		return resources, nil
	}
	return nil, err
}
