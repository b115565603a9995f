package webhooks

import (
	"context"
	"net/http"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Server accepts the requests of the API server. This package has several implementations,
// and embedding programs can supply their own.
//
// Kopf: kopf.WebhookServerProtocol (v1.45).
type Server interface {
	// Serve passes requests to the handler until the context ends. It then finishes the
	// running requests and returns nil. The path of a request, after the prefix of the
	// client config, is the id of the handler.
	//
	// Serve announces the client config as soon as it accepts requests, and again after each
	// change. Each announcement reconfigures all webhooks.
	Serve(ctx context.Context, handler http.Handler, announce func(ClientConfig)) error
}

// Operator is the operator behind the webhooks. It is safe for concurrent use.
type Operator interface {
	// Handlers returns the webhook handlers with their current resources.
	Handlers() []reviews.Handler

	// Served returns a resource, if one of the handlers is for it.
	Served(key selectors.Key) (r selectors.Resource, ok bool)

	// Changed returns a channel that receives a value after the resources have changed.
	Changed() <-chan struct{}

	// Review decides a request. An error means that there is no decision. The error is a
	// reviews.Error if the client is at fault.
	Review(ctx context.Context, in *reviews.Incoming) (*reviews.Verdict, error)

	// Convert converts an object to another apiVersion.
	Convert(ctx context.Context, object []byte, desired string) ([]byte, error)

	// Reserve waits for memory in which to convert objects. The caller must release it.
	//
	// Errors: accounts.ErrLimit.
	Reserve(ctx context.Context, bytes int) (*accounts.Lease, error)

	Cluster
}

// Cluster is the part of the Kubernetes API that webhooks use. Errors of the API server are
// those of k8s.io/apimachinery/pkg/api/errors.
type Cluster interface {
	Get(ctx context.Context, path apipath.Path) ([]byte, error)
	Create(ctx context.Context, path apipath.Path, object []byte) error
	Patch(ctx context.Context, path apipath.Path, mergePatch []byte) error
}
