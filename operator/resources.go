package operator

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Resources returns the resources of the cluster of a login; nil: of the current context, or of the cluster that this program runs in.
//
// Errors: there are no credentials, or the API server does not answer. Resources of groups that do not answer are absent.
func Resources(ctx context.Context, login Login) ([]selectors.Resource, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client, _, err := clients.LogIn(ctx, Logins(login), clients.UserAgent(version(), ""), zerolog.Nop())
	if err != nil {
		return nil, err
	}
	resources, err := discovery.Scan(ctx, client.Discover)
	if resources != nil {
		return resources, nil
	}
	return nil, err
}
