package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/admission"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/webhooks"
)

// Admission is how the API server reaches admission handlers. An unset field keeps the value
// of the settings.
type Admission struct {
	// Server is the server or the tunnel in its JSON form: {"type": "server", "port": 9443}.
	Server json.RawMessage

	// Custom is a server that the embedding program has made. It replaces Server and the
	// server of the settings.
	Custom webhooks.Server

	Managed string          // the name of the configurations in the cluster; empty: the name in the settings
	Limits  webhooks.Limits // of requests

	// Tenancy restricts the operator. Then the settings of admission have no effect, and
	// operators without handlers for admission or conversion have no server.
	Tenancy *Tenancy
}

// Tenancy restricts the admission handlers of an operator whose author is not trusted by the
// administrator of the cluster.
type Tenancy struct {
	// Refuse is the error of operators with handlers for admission, and RefuseConversion of
	// those with handlers for conversion. Nil: they are accepted.
	Refuse, RefuseConversion error

	// Scope, Registrar, Definer and Permit are as in webhooks.Webhooks.
	Scope     *webhooks.Scope
	Registrar webhooks.Cluster
	Definer   webhooks.Cluster
	Permit    func(ctx context.Context, handlers []reviews.Handler) error
}

// ErrNoServer says that the API server cannot reach the handlers for admission or conversion
// that a replacement has and its predecessor had not: the operator has to run again.
var ErrNoServer = reactor.ErrNoServer

// check refuses handlers.
func (t *Tenancy) check(r *registries.Registry) error {
	switch {
	case t == nil:
		return nil
	case len(r.Admission) > 0 && t.Refuse != nil:
		return t.Refuse
	case len(r.Converting) > 0 && t.RefuseConversion != nil:
		return t.RefuseConversion
	}
	return nil
}

// applied applies the options to the settings, and returns them.
func (a Admission) applied(s *settings.Settings) (*settings.Settings, error) {
	if a.Server != nil {
		if _, err := webhooks.ParseServer(a.Server, false); err != nil {
			return nil, serverError(err)
		}
		s.Admission.Server, s.Admission.FromGuest = a.Server, false
	}
	if a.Managed != "" {
		s.Admission.Managed = a.Managed
	}
	return s, nil
}

func serverError(err error) error { return fmt.Errorf("setting \"admission.server\": %w", err) }

// webhooks returns a function that creates the webhooks from the settings as they are after
// the startup handlers.
func (a Admission) webhooks(log zerolog.Logger, cert *certificate, needed bool) func(s settings.Admission) (reactor.Webhooks, error) {
	return func(s settings.Admission) (reactor.Webhooks, error) {
		tenancy := &Tenancy{}
		if a.Tenancy != nil {
			if tenancy, s = a.Tenancy, (settings.Admission{Managed: a.Managed}); !needed || a.Custom == nil {
				return nil, nil
			}
		}
		server := a.Custom
		if server == nil {
			if s.Server == nil && s.Managed != "" {
				return nil, fmt.Errorf("setting \"admission.managed\": there is nothing to manage without \"admission.server\"")
			}
			if s.Server == nil {
				return nil, nil
			}
			var err error
			if server, err = webhooks.ParseServer(s.Server, s.FromGuest); err != nil {
				return nil, serverError(err)
			}
		}
		return &hooks{webhooks.Webhooks{
			Server: server, Managed: s.Managed, Limits: a.Limits, Renewed: cert.renewed,
			Scope: tenancy.Scope, Registrar: tenancy.Registrar, Definer: tenancy.Definer, Permit: tenancy.Permit,
			Log: log.With().Str(loggers.Field, "kopf.admission").Logger(),
		}}, nil
	}
}

// webhooks is Admission.webhooks, for one of several replicas.
func (o *Options) webhooks(cert *certificate, needed bool) func(s settings.Admission) (reactor.Webhooks, error) {
	create := o.Admission.webhooks(o.Log, cert, needed)
	return func(s settings.Admission) (reactor.Webhooks, error) {
		if err := o.Replicas.check(s); err != nil {
			return nil, err
		}
		return create(s)
	}
}

// certificate remembers when the certificate of the webhook server expires.
type certificate struct{ seconds atomic.Int64 } // Unix time; 0: no certificate yet

func (c *certificate) renewed(expires time.Time) { c.seconds.Store(expires.Unix()) }

// Expires is the time at which the certificate expires; false if the server has no
// certificate yet.
func (c *certificate) Expires() (time.Time, bool) {
	seconds := c.seconds.Load()
	return time.Unix(seconds, 0), seconds != 0
}

// hooks adapts Webhooks to the interface of the reactor.
type hooks struct{ webhooks.Webhooks }

var _ reactor.Webhooks = (*hooks)(nil)

// Serve serves the operator's handlers until the context ends.
func (h *hooks) Serve(ctx context.Context, op *admission.Admission, leader reactor.Leader) error {
	h.Leader = leader
	h.Detect = func(ctx context.Context) (string, error) {
		cert, version, err := op.Identity(ctx)
		if err != nil {
			return "", err
		}
		return webhooks.LocalHost(cert, version), nil
	}
	return h.Run(ctx, op)
}
