package clients

import (
	"context"
	"fmt"

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

// LogIn returns ForCommand with the credentials of the host's logins, and these credentials by login.
//
// Errors: credentials.ErrNone; a login that has failed.
func LogIn(ctx context.Context, logins []credentials.HostLogin, userAgent string, log zerolog.Logger) (*Client, map[string]credentials.Info, error) {
	own, err := credentials.FromHost(ctx, logins, log)
	if err != nil {
		return nil, nil, fmt.Errorf("login: %w", err)
	}
	if len(own) == 0 {
		return nil, nil, credentials.ErrNone
	}
	return ForCommand(ctx, own, userAgent, log), own, nil
}
