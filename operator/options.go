package operator

import (
	"io"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/operator/dryrun"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// Territory selects the namespaces that an operator serves, and follows changes.
type Territory = observation.Territory

// Memo is the memo that all handlers of an operator share.
type Memo = memos.Shared

// Tenant is who owns several operators of a process: see Options.Tenant. The zero value is one without a budget.
type Tenant = accounts.Tenant

// Budget is the memory that the operators of several tenants have together: see Tenant.Budget. A tenant gets no more of it while it has
// more than twice of what is left.
type Budget = accounts.Budget

// BudgetError says that an operator, or something that its handlers want to store, got no memory of a Budget.
type BudgetError = accounts.BudgetError

// NewBudget makes a budget of so many bytes.
func NewBudget(bytes int64) *Budget { return accounts.NewBudget(bytes) }

// Options configure an operator. Modules, Guests or Program is required.
type Options struct {
	// Modules are the names of the guests, by default names of files. They form one
	// operator, in this order.
	Modules []string

	// Guests are further guests, written in Go and run without WebAssembly.
	Guests []guests.Guest

	// Wrap returns a guest that stands between the reactor and a module or a guest, and sees
	// what they say: see package crossings. Nil: no guest is wrapped.
	Wrap func(g guests.Guest) guests.Guest

	// Many is called when the listing of a resource turns out to have many objects: more than a page
	// (watching.chunk_size). The function that it returns is called when the listing is over. The
	// program can collect garbage more often meanwhile. Both can be called several times at once. Nil:
	// nothing is called.
	Many func() (end func())

	// Simulated is set for operators on a simulated clock. They leave the memory of the process
	// to the garbage collector.
	Simulated bool

	// Name identifies the operator within the process. The default is the name that its
	// modules and guests register.
	Name string

	// AllowOverlap permits an operator that handles the same objects as another one of this
	// process, instead of ErrOverlap. Use it when peering decides which of them works.
	AllowOverlap bool

	// Precedence decides which of two operators of this process gets objects that both would handle
	// with the same state: the one with the higher precedence, if it may list and patch them. The other one ends with ErrOverlap.
	// Of two equal ones, the first one that may list the objects keeps them. Default: 0.
	Precedence int

	// Memo is the memo of the operator. The program can read and change it. Nil means an
	// empty memo.
	Memo *Memo

	// Open reads a module by its name. The default reads files. Package artifacts/modules
	// provides an Opener for registries.
	Open Opener

	// Engine is the module that runs the scripts among Modules, a name for Open. If it is
	// empty, package operator/scripts finds the engine.
	Engine string

	// Python says what the scripts in Python among Modules import.
	Python Python

	// Program is a connection to a guest that runs natively, without a sandbox. It replaces
	// Modules. Run closes it, and returns ErrProgramEnded if the program ends before the
	// operator.
	//
	// See docs/testing.md.
	Program io.ReadWriteCloser

	// Namespaces are names or patterns. An empty list means the whole cluster.
	//
	// See https://docs.kopf.dev/en/latest/scopes/
	Namespaces []string

	// Territory selects the namespaces that the operator serves, in place of Namespaces, which
	// must not be empty then. Nil: Namespaces select them.
	Territory Territory

	// Liveness is the URL of the endpoint for liveness probes. Empty disables the endpoint.
	//
	// See https://docs.kopf.dev/en/latest/probing/
	Liveness string

	// Listen is the address of the endpoints /livez, /readyz and /metrics, for example
	// 127.0.0.1:8080. Empty disables the endpoints.
	//
	// See docs/monitoring.md.
	Listen string

	// Once ends the operator after it has handled all objects that exist at its start. Run
	// returns ErrHandlersFailed if a handler has failed permanently.
	Once bool

	// Replicas make the operator one of several that share its work.
	Replicas Replicas

	// DryRun is called for each request that the operator would send to change something, one at
	// a time. None is sent: the patches of objects are kept in memory, and requests of guests to
	// Kubernetes are dry runs of the API server. The operator ignores its peers and replicas, and
	// serves no webhooks. Nil: no dry run.
	//
	// See docs/development.md.
	DryRun func(dryrun.Request)

	// Peering overrides the peering settings before the startup handlers run.
	//
	// See https://docs.kopf.dev/en/latest/peering/
	Peering Peering

	// Calls say which requests the guests may make. By default, they may make none.
	Calls Calls

	// Limits bound the rate of the operator's requests. An unset limit has the default of
	// package reactor/clients.
	Limits Limits

	// LoopRate is how often per minute, and how often at once, the operator may trigger itself
	// with an object: its own patch is why handlers are called for the object again. Further
	// calls wait. Zero: no limit, as in Kopf.
	LoopRate int

	// GrantWanted grants everything that the guests declare, in addition to Calls.Grants.
	GrantWanted bool

	// CheckGrant refuses a host that a guest would be granted, whether by Calls.Grants or by
	// GrantWanted. Nil refuses none.
	CheckGrant func(Host) error

	// Admission is how the API server reaches admission handlers.
	//
	// See https://docs.kopf.dev/en/latest/admission/
	Admission Admission

	// Identity is the operator's name among its peers. The default is $POD_ID, or else
	// user@host/time/random.
	Identity string

	// Tenant is shared by the operators of one tenant. Together, they get a part of what all operators of the process have: at most half
	// of the memory for reviews, and of the memory mappings for instances, and memory as their Budget allows. What modules have beyond what
	// handlers store is not counted if Host.Memories is set. Nil: the operators trust each other.
	Tenant *Tenant

	// Host holds the limits, the configuration and the streams of the guests. If a stream is
	// nil, its lines become records in Log. All modules of the operator and their
	// replacements share one bucket of Host.LogLimit for their output, unless Host.Output is
	// a bucket that is shared with others.
	Host host.Options

	// Settings are the settings before the startup handlers run; nil: the defaults.
	Settings *settings.Settings

	// GrantedSettings are names of settings of the class grant, which open ports or redirect
	// requests. Startup handlers may set only the granted ones.
	//
	// See https://docs.kopf.dev/en/latest/configuration/
	GrantedSettings []string

	// Login returns credentials, unless the guests have login handlers. Login handlers can
	// select it by the name "host". If it is nil, Kubeconfig and ServiceAccount are used, by
	// the names "kubeconfig" and "service_account".
	//
	// See https://docs.kopf.dev/en/latest/authentication/
	Login Login

	// AllowServer lets login handlers choose the API server, its certificate authorities,
	// and whether to verify its certificate. AllowProxy lets them choose the proxy. By
	// default, the host decides all of these.
	AllowServer, AllowProxy bool

	// NoLogins refuses modules and guests with login handlers, with ErrLogins: all requests are
	// made with the credentials of Login.
	NoLogins bool

	// Counts is called once before the operator runs. Its argument returns the current
	// counts of the operator at any time. Counts may be nil.
	Counts func(count func() reactor.Counts)

	// Watches are shared by operators of this process that have the same Watches: see
	// ShareWatches. Nil means that each watch has a connection of its own.
	Watches *Watches

	// Access reports whether the operator's account may list and watch what it would get from
	// shared watches. It is asked when a watch begins, each minute, and after a refused
	// request. If it is nil, the API server is asked with the credentials of the operator, and
	// an operator with AllowServer or AllowProxy shares nothing.
	Access Access

	// Reload replaces the modules when one of their files changes: see Operator.Reload.
	Reload bool

	// Loaded is called by Operator.Reload when the modules were read and loaded, before the startup handlers of those that have
	// changed run. Nil: nothing is called.
	Loaded func()

	// KeepRights refuses a replacement that wants more rights than the running module, such
	// as other resources, other requests or fewer filters. The error is ErrMoreRights.
	KeepRights bool

	// Tracer takes the spans of the operator: see package traces. Nil: nothing is traced.
	Tracer tracing.Tracer

	Log    zerolog.Logger
	RefKey string // the field of the object's reference in log lines; "object" by default
	Ready  func() // called when the operator has started; may be nil
}
