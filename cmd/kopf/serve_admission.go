package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting/gateway"
	"github.com/kopf-wasm/kopf/hosting/identity"
	"github.com/kopf-wasm/kopf/hosting/installation"
	"github.com/kopf-wasm/kopf/hosting/replicas"
)

// jsonOf returns the JSON form of a webhook server, which is named by its type or described
// by JSON; nil without one.
func jsonOf(server string) json.RawMessage {
	switch text := strings.TrimSpace(server); {
	case text == "":
		return nil
	case strings.HasPrefix(text, "{"):
		return json.RawMessage(text)
	default:
		quoted, _ := json.Marshal(text) // a string always encodes
		return quoted
	}
}

// manifests returns what --install prints.
func (o *serveOptions) manifests() (string, error) {
	var admission *installation.Admission
	if server := jsonOf(o.admission); server != nil {
		secret, err := gateway.SecretOf(server)
		if err != nil {
			return "", usageError{fmt.Errorf("--admission-server: %w", err)}
		}
		admission = &installation.Admission{}
		if secret != nil {
			admission.SecretNamespace, admission.SecretName = secret.Namespace, secret.Name
		}
	}
	text := installation.Manifests(identity.Mode(o.identity), admission)
	if o.replicas.mode != "" {
		namespace, name, err := replicas.Named(o.replicas.wants.Lease)
		if err != nil {
			return "", usageError{err}
		}
		text += installation.Lease(namespace, name, o.replicas.wants.Shared)
	}
	return text, nil
}

// gateway makes the server for admission handlers; nil without one.
func (o *serveOptions) gateway(config *rest.Config, log zerolog.Logger) (*gateway.Gateway, error) {
	server := jsonOf(o.admission)
	if server == nil {
		return nil, nil
	}
	made, err := gateway.New(gateway.Options{Server: server, Config: config, Log: log})
	if err != nil {
		return nil, usageError{fmt.Errorf("--admission-server: %w", err)}
	}
	return made, nil
}

// admitting runs a server for admission handlers until serve has ended. If the server fails,
// it ends the context of serve. A nil server does nothing.
func admitting(ctx context.Context, server *gateway.Gateway, serve func(ctx context.Context) error) error {
	if server == nil {
		return serve(ctx)
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	reachable, end := context.WithCancel(context.WithoutCancel(ctx)) // until the operators have removed their webhooks
	defer end()
	ended := make(chan error, 1)
	go func() { // Waited for below.
		defer stop()
		ended <- server.Run(reachable)
	}()
	err := serve(working)
	end()
	return errors.Join(err, <-ended)
}
