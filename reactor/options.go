package reactor

import (
	"context"
	"net/http"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/claims"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/sharing"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// Options configure an operator. New copies them, so later changes have no effect. The
// operator changes only the memo.
type Options struct {
	Registry *registries.Registry
	Settings *settings.Settings // nil: the defaults

	// Logins are the host's own ways to log in. The operator uses them after the startup
	// handlers if there are no login handlers. Otherwise it offers them to the login
	// handlers.
	Logins []credentials.HostLogin

	// AllowServer and AllowProxy let login handlers choose the server and the proxy of
	// requests.
	AllowServer, AllowProxy bool

	Namespaces []string // patterns; empty: the whole cluster

	// Territory selects the namespaces in place of the patterns, which then only say that the
	// operator does not serve the whole cluster. Nil: the patterns do.
	Territory observation.Territory

	// Name identifies the operator in errors among several operators of the process.
	Name string

	// Claims are shared by operators that must not handle the same objects: see ErrOverlap.
	// Nil: no check.
	Claims *claims.Claims

	// Precedence decides which operator gets objects that another one handles with the same
	// state: the one with the higher precedence, if it may list and patch them, and with equal ones the first one.
	Precedence int

	// Memo is the memo of the operator. Default (nil): an empty memo.
	Memo *memos.Shared

	// Compute runs what the host computes for the handlers, as a part of their computing time. Nil: it does not count.
	Compute handling.Compute

	// Held limits what is kept in memory for the handlers. Limits of zero have their
	// defaults.
	Held accounts.Limits

	// Charge is what the operator has of what those of its tenant may have together. Nil: the operators of the process trust each other.
	Charge *accounts.Charge

	// Identity is the name of the operator among its peers. Default: the result of
	// peering.Identity.
	Identity string

	// Liveness is the URL of the endpoint for liveness probes; empty: no endpoint.
	Liveness string

	// Lease makes the operator one of several replicas, of which only the leader handles objects. Nil: it is
	// the only one.
	Lease *Lease

	// Calls say which requests of guests are allowed.
	Calls calls.Options

	// Limits bound the rate of requests.
	Limits clients.Limits

	// LoopRate is how often per minute the operator may call handlers for an object because of
	// its own patch of the object. See package loops. Zero: no limit.
	LoopRate int

	// UserAgent is the user agent of requests to Kubernetes. Default: "kopf".
	UserAgent string

	// Watches are shared by the operators of a process. Nil: each watch has a connection of
	// its own.
	Watches *sharing.Hub

	// Many is called when the listing of a resource turns out to have many objects, and the function
	// that it returns when the listing is over. Nil: nothing is called.
	Many func() (end func())

	// Access reports what the account of the operator may see of shared watches. Nil: the API
	// server is asked with the credentials of the operator.
	Access sharing.Access

	// DryRun wraps the transports of the operator, so that nothing is written: see
	// clients.Options.Wrap. The operator then ignores peers and replicas, and serves no webhooks.
	// Nil: no dry run.
	DryRun func(http.RoundTripper) http.RoundTripper

	// Once ends the operator when all objects that exist at its start are handled. Run then
	// returns nil, or ErrHandlersFailed if a handler has failed for good.
	Once bool

	// GrantedSettings are the names of settings of the class grant that startup handlers
	// may set.
	GrantedSettings []string

	// Webhooks makes the webhooks through which the API server reaches admission handlers.
	// It gets the settings after the startup handlers, and returns nil if no webhooks are
	// configured. It may be nil.
	Webhooks func(s settings.Admission) (Webhooks, error)

	Log    zerolog.Logger
	RefKey string // the log field that holds the reference of the object; default: "object"

	// Tracer takes the spans of the operator. Nil: nothing is traced.
	Tracer tracing.Tracer

	// Refused is called once, when the API server has refused a request of the operator for the
	// first time. It may be nil.
	Refused func(ctx context.Context, client *clients.Client)

	// Ready is called once, after the startup handlers, when the operator begins to observe
	// the cluster. It may be nil.
	Ready func()
}
