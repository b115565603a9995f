// Package gateway lets the API server reach the admission handlers of hosted operators: by
// one server with one certificate, and a path for each operator. It writes the webhook
// configurations with the credentials of the host, for handlers that the service account of
// their operator is permitted to have.
package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/conns"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/webhooks"
	"github.com/kopf-wasm/kopf/webhooks/certificates"
)

// Limits of the requests to one operator. Those of the server are in package webhooks.
const (
	concurrent  = 64       // slots
	waiting     = 128      // requests that wait for slots
	memory      = 32 << 20 // bytes of bodies
	conversions = 4
	connections = 4096 // of all operators

	firstPause = time.Second
	lastPause  = time.Minute
)

// Options configure a gateway. All are required.
type Options struct {
	Server json.RawMessage // the server or the tunnel, as in operator.Admission
	Config *rest.Config    // of the host
	Log    zerolog.Logger
}

// Gateway is the server for all operators of a host. It is safe for concurrent use.
type Gateway struct {
	shared  *webhooks.Shared
	cluster *cluster
	log     zerolog.Logger
}

var _ hosting.Gateway = (*Gateway)(nil)

// New makes a gateway. Run serves.
//
// Errors name the option of the server.
func New(o Options) (*Gateway, error) {
	server, err := webhooks.ParseServer(o.Server, false)
	if err != nil {
		return nil, err
	}
	log := o.Log.With().Str("logger", "kopf.admission").Logger()
	g := &Gateway{cluster: newCluster(o.Config, log), log: log}
	g.shared = webhooks.NewShared(server, webhooks.Environment{
		Cluster: g.cluster, Log: log, Connections: conns.Limits{Total: connections},
		Detect: func(ctx context.Context) (string, error) {
			cert, version, err := g.cluster.client.Identity(ctx)
			if err != nil {
				return "", err
			}
			return webhooks.LocalHost(cert, version), nil
		},
	})
	return g, nil
}

// Run serves until the context ends. It must end after the host, whose operators remove their
// webhooks from the cluster before.
func (g *Gateway) Run(ctx context.Context) error {
	if err := g.shared.Run(ctx); err != nil {
		return fmt.Errorf("the server for admission: %w", err)
	}
	return nil
}

// Admission returns how the API server reaches an operator.
func (g *Gateway) Admission(d *hosting.Declaration, scope *webhooks.Scope) operator.Admission {
	account := d.Account()
	return operator.Admission{
		Custom: g.shared.Part(Path(d.Key)), Managed: Name(d.Key),
		Limits: webhooks.Limits{Concurrent: concurrent, Waiting: waiting, Memory: memory, Conversion: memory, Conversions: conversions},
		Tenancy: &operator.Tenancy{
			Scope: scope, Registrar: g.cluster,
			Permit: func(ctx context.Context, handlers []reviews.Handler) error {
				return g.permit(ctx, func() error { return g.cluster.permit(ctx, account, scope, handlers) })
			},
		},
	}
}

// permit asks about rights until there is an answer.
func (g *Gateway) permit(ctx context.Context, ask func() error) error {
	for pauses := (backoffs.Doubling{First: firstPause, Most: lastPause}); ; {
		pause := pauses.Next()
		err := ask()
		if refusal := (*hosting.Refusal)(nil); err == nil || errors.As(err, &refusal) {
			return err
		}
		g.log.Warn().Err(err).Dur("pause", pause).Msg("The rights for admission cannot be checked; the host tries again.")
		if ended := backoffs.Pause(ctx, pause); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// Remove deletes the webhook configurations of a declaration.
func (g *Gateway) Remove(ctx context.Context, key hosting.Key) error {
	var errs []error
	for _, plural := range []string{webhooks.Validating, webhooks.Mutating} {
		if err := g.cluster.remove(ctx, plural, Name(key)); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("the webhook configuration %s: %w", Name(key), err))
		}
	}
	return errors.Join(errs...)
}

// SecretOf returns the secret of the certificate of a server, as its options name it; nil if
// they name none.
//
// Errors name the option.
func SecretOf(server json.RawMessage) (*certificates.SecretRef, error) {
	parsed, err := webhooks.ParseServer(server, false)
	if err != nil {
		return nil, err
	}
	if local, ok := parsed.(*webhooks.LocalServer); ok {
		return local.Secret, nil
	}
	return nil, nil
}

// Path is the path of an operator on the server: /operators/NAMESPACE/NAME, or
// /clusteroperators/NAME.
func Path(key hosting.Key) string {
	if key.Kind == api.Cluster {
		return "/clusteroperators/" + key.Name
	}
	return "/operators/" + key.Namespace + "/" + key.Name
}

// maxName bounds the names of configurations, so that those of their webhooks have room for
// the ids of handlers: Kubernetes accepts 253 bytes.
const maxName = 150

// hashed begins the names that have a hash.
const hashed = "hash-"

// Name is the name of an operator's configurations, and the suffix of the names of its
// webhooks: NAME.NAMESPACE.wasmoperators.hosting.kopf.dev. A long name of an operator is
// replaced by a hash, and so is one that begins like a hash.
func Name(key hosting.Key) string {
	suffix := "." + key.Kind.Plural() + "." + api.Group
	if key.Kind == api.Namespaced {
		suffix = "." + key.Namespace + suffix
	}
	if len(key.Name)+len(suffix) > maxName || strings.HasPrefix(key.Name, hashed) { // a name that looks like the hash of another one is hashed too
		return fmt.Sprintf("%s%.16x%s", hashed, sha256.Sum256([]byte(key.Name)), suffix)
	}
	return key.Name + suffix
}
