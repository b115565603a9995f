// Package operator joins guests and reactor into operators: it is what the
// command line uses, and what programs import to run operators of their own.
//
// See https://docs.kopf.dev/en/latest/embedding/
package operator

import (
	"context"
	"io"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/claims"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// Memo is the memo of an operator.
type Memo = memos.Shared

// ErrOverlap says that two operators of this process would handle the same objects with
// the same finalizer, or with the same storage: neither would know what the other has done.
var ErrOverlap = claims.ErrOverlap

// claimed are the claims of all operators of the process, as nothing else can know of all of
// them.
var claimed claims.Claims //nolint:gochecknoglobals // see RATIONALE.md: "Why do the operators of a process know of each other?"

// Options say what an operator is made of. Modules, Guests or Program are required.
type Options struct {
	// Modules are the names of the guests, files by default: one operator, in this order.
	Modules []string

	// Guests are handlers besides those of the modules: in Go, without WebAssembly.
	Guests []guests.Guest

	// Name tells the operator from others in the same process; by default, it is that
	// of the modules and guests.
	Name string

	// AllowOverlap lets the operator handle the same objects as others in this process,
	// instead of ErrOverlap: when their peering decides which of them works.
	AllowOverlap bool

	// Memo is the memo of the operator, which the program can read and change; nil: an
	// empty one.
	Memo *Memo

	// Open reads a module by its name; files by default. A program that runs modules
	// from registries too has package artifacts/modules for this.
	Open Opener

	// Engine is the module that runs scripts among Modules, a name for Open; empty: the
	// one that is found as package operator/scripts tells.
	Engine string

	// Program is a connection with a guest that runs natively, without a sandbox, instead
	// of Modules. Run closes it, and fails with ErrProgramEnded if it ends before the operator.
	//
	// See docs/testing.md.
	Program io.ReadWriteCloser

	// Namespaces are names or patterns; none is the whole cluster.
	//
	// See https://docs.kopf.dev/en/latest/scopes/
	Namespaces []string

	// Liveness is the URL of the endpoint for liveness probes; none if empty.
	//
	// See https://docs.kopf.dev/en/latest/probing/
	Liveness string

	// Listen is the address of the endpoints /livez, /readyz and /metrics, such as
	// 127.0.0.1:8080; none if empty.
	//
	// See docs/monitoring.md.
	Listen string

	// Once ends the operator when all that there is at its start is handled, with
	// ErrHandlersFailed if a handler has failed for good.
	Once bool

	// Peering changes the settings of the peering before the startup handlers.
	//
	// See https://docs.kopf.dev/en/latest/peering/
	Peering Peering

	// Calls say which requests of the guests are made, and how; none by default.
	Calls Calls

	// Limits bound the requests of the operator in time; absent ones have the defaults of
	// package reactor/clients.
	Limits Limits

	// GrantWanted grants all that the guests declare to want, besides Calls.Grants.
	GrantWanted bool

	// Admission is how the API server reaches admission handlers.
	//
	// See https://docs.kopf.dev/en/latest/admission/
	Admission Admission

	// Identity is the name among other operators; by default $POD_ID, or else
	// user@host/time/random.
	Identity string

	// Host are the limits, the configuration and the streams of the guests. Where a stream is
	// nil, its lines become records in Log. All modules of the operator, and those that replace them, share
	// one bucket of Host.LogLimit for their output, unless Host.Output is a bucket that others have, too.
	Host host.Options

	// Settings are the settings before the startup handlers; nil: the defaults.
	Settings *settings.Settings

	// GrantedSettings are names of settings that open ports, or change where requests
	// go: startup handlers may set these ones.
	//
	// See https://docs.kopf.dev/en/latest/configuration/
	GrantedSettings []string

	// Login gives credentials, unless there are login handlers; those can choose it
	// by the name "host". Nil: Kubeconfig and ServiceAccount, by the names
	// "kubeconfig" and "service_account".
	//
	// See https://docs.kopf.dev/en/latest/authentication/
	Login func(ctx context.Context) (*credentials.Info, error)

	// AllowServer lets login handlers choose the server that requests go to, and its
	// authorities, or no verification. AllowProxy lets them choose the proxy. By default all
	// of these are the host's.
	AllowServer, AllowProxy bool

	// Counts is called once, before the operator runs, with a function that tells at
	// any time what it holds. May be nil.
	Counts func(count func() reactor.Counts)

	// Reload replaces the modules whenever one of their files has changed: see
	// Operator.Reload.
	Reload bool

	// KeepRights refuses to replace modules by others that want more: other resources or
	// requests, or fewer filters, for example. The error is ErrMoreRights then.
	KeepRights bool

	Log    zerolog.Logger
	RefKey string // the field of the object's reference in log lines; "object" by default
	Ready  func() // called when the operator has started; may be nil
}

// ErrExitTimeout says that the graceful exit took longer than the setting
// process.ultimate_exiting_timeout. The process should end: something in it hangs.
var ErrExitTimeout = reactor.ErrExitTimeout

// ErrRunTwice refuses to run an operator once more.
var ErrRunTwice = reactor.ErrRunTwice

// ErrHandlersFailed says that an operator that ran once has left failures.
var ErrHandlersFailed = reactor.ErrHandlersFailed

// Run loads and runs an operator until the context ends. The error says what could
// not be started: the file, the handler, the setting, or the cluster.
func Run(ctx context.Context, o Options) error {
	op, err := New(ctx, o)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // stopped before it was started
	case err != nil:
		return err
	}
	return op.Run(ctx)
}
