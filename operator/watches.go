package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/sharing"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Watches are watches that operators of one process share: one connection for each resource,
// scope and selection.
type Watches = sharing.Hub

// Access reports whether an account may both list and watch a scope.
type Access = sharing.Access

// Scope is a resource in one namespace, or in the whole cluster.
type Scope = sharing.Scope

// WatchesOptions configure ShareWatches.
type WatchesOptions struct {
	// Login returns the credentials of the host, which make the shared watches. If it is nil,
	// ServiceAccount and Kubeconfig are used.
	Login Login

	// Settings have the timeouts of the shared watches; nil: the defaults.
	Settings *settings.Settings

	Log zerolog.Logger
}

// errNoHostLogin means that the host has no credentials for shared watches.
var errNoHostLogin = errors.New("the host has no credentials for shared watches: it needs a kubeconfig, or the service account of a pod")

// ShareWatches makes the watches for Options.Watches of several operators. The watches end
// with the context. From then on, each operator has watches of its own.
//
// An operator shares the watches of the API server to which both the host and the operator
// connect. It gets only what its account may list and watch. What the host itself may not
// watch is not shared.
//
// Errors: those of the login.
func ShareWatches(ctx context.Context, o WatchesOptions) (*Watches, error) {
	s := o.Settings
	if s == nil {
		s = settings.Default()
	}
	s = s.Clone()
	log := o.Log.With().Str(loggers.Field, "kopf.reactor").Logger()
	vault := credentials.New(func(ctx context.Context, _ bool) (map[string]credentials.Info, error) {
		found, err := credentials.FromHost(ctx, Logins(o.Login), log)
		if err == nil && len(found) == 0 {
			err = errNoHostLogin
		}
		return found, err
	})
	go func() { _ = vault.Run(ctx) }() // It ends with the context; later watches get its error.
	if _, err := vault.Take(ctx); err != nil {
		return nil, fmt.Errorf("sharing watches: %w", err)
	}
	client := clients.New(vault, func() clients.Options {
		options := clients.OptionsOf(s.Networking)
		options.WatchConnectTimeout = cmp.Or(s.Watching.ConnectTimeout, options.WatchConnectTimeout)
		options.UserAgent, options.FinalRefusals = clients.UserAgent(version(), ""), true
		return options
	}, func(message string) { log.Error().Msg(message) })
	return sharing.New(ctx, sharing.Options{
		Client: client, Watching: func() watching.Options { return watching.OptionsOf(s) },
		Log: func(level int, message string) { log.WithLevel(loggers.ZerologLevel(level)).Msg(message) },
	}), nil
}
