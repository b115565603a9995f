package scenarios

import (
	"context"
	"net/http"

	"github.com/kopf-wasm/kopf/webhooks"
)

// unreached is a webhook server that no API server calls. Operators with handlers for admission
// or conversion do not start without a server.
type unreached struct{}

// Serve implements webhooks.Server.
func (unreached) Serve(ctx context.Context, _ http.Handler, _ func(webhooks.ClientConfig)) error {
	<-ctx.Done()
	return nil
}
