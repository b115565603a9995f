package clients

import (
	"context"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// ForCommand returns a client for a command that ends soon: with credentials that are not renewed, and the default
// settings. It ends with the context.
func ForCommand(ctx context.Context, own map[string]credentials.Info, userAgent string, log zerolog.Logger) *Client {
	vault := credentials.New(func(context.Context, bool) (map[string]credentials.Info, error) { return own, nil })
	go func() { _ = vault.Run(ctx) }() // It ends with the context; requests return its error.
	return New(vault, func() Options {
		o := OptionsOf(settings.Default().Networking)
		o.UserAgent = userAgent
		return o
	}, func(message string) { log.Error().Msg(message) })
}
