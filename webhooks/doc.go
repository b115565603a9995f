// Package webhooks lets the API server reach the handlers of an operator: it
// accepts admission and conversion reviews over HTTPS, with certificates of its
// own or given ones, and keeps the configurations in the cluster that name it.
// What the handlers decide comes from an Operator.
//
// Kopf: kopf._core.engines.admission, kopf._kits.webhooks (v1.45);
// https://docs.kopf.dev/en/latest/admission/
package webhooks

import (
	"context"
	"net/http"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// Server accepts the requests of the API server: one of this package, or one of a
// program that embeds operators.
//
// Kopf: kopf.WebhookServerProtocol (v1.45).
type Server interface {
	// Serve passes requests to the handler until the context ends, and then finishes
	// those that are under way: nil in that case. The path of a request, without what
	// the client config has before it, is the id of the handler that is meant.
	//
	// As soon as requests are accepted, the client config is announced, and again
	// whenever it changes: all webhooks are reconfigured then.
	Serve(ctx context.Context, handler http.Handler, announce func(ClientConfig)) error
}

// Operator is the operator behind the webhooks. It is safe for concurrent use.
type Operator interface {
	// Handlers are those for webhooks, with the resources that they are for now.
	Handlers() []reviews.Handler

	// Changed has something to receive after the resources have changed.
	Changed() <-chan struct{}

	// Review decides about a request. An error means that it cannot be answered; it
	// is a reviews.Error if that is the fault of who has sent it.
	Review(ctx context.Context, in *reviews.Incoming) (*reviews.Verdict, error)

	// Convert brings an object into another apiVersion.
	Convert(ctx context.Context, object []byte, desired string) ([]byte, error)

	Cluster
}

// Cluster is the API as far as webhooks need it. Errors from the server are those
// of k8s.io/apimachinery/pkg/api/errors.
type Cluster interface {
	Get(ctx context.Context, path apipath.Path) ([]byte, error)
	Create(ctx context.Context, path apipath.Path, object []byte) error
	Patch(ctx context.Context, path apipath.Path, mergePatch []byte) error
}
