package hosting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/finalizers"
	"github.com/kopf-wasm/kopf/hosting/journals"
	"github.com/kopf-wasm/kopf/hosting/places"
	"github.com/kopf-wasm/kopf/internal/panics"
	"github.com/kopf-wasm/kopf/internal/processors"
	"github.com/kopf-wasm/kopf/internal/slots"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// DefaultInstanceMemory is the InstanceMemory of hosted operators, in bytes: without it, one
// tenant could use up the memory of the machine, by many handlers that wait.
const DefaultInstanceMemory = 2 << 30

// enoughMemory is how much memory a host needs for the defaults of all limits of memory, in bytes: one operator that uses all that
// they allow takes 5 GiB. With less, they are a part of the defaults.
const enoughMemory = 8 << 30

// compileMemory is the default of CompileMemory in a host with enough memory, in bytes. A compiler counts for no operator, and the kernel may
// end it together with the host, so it has less in a host with less memory. leastCompileMemory is enough for CPython, which takes 180 MiB.
const (
	compileMemory      = 1 << 30
	leastCompileMemory = 256 << 20
)

// ownMemory is what a host keeps for itself, in bytes, or half of its memory if that is less: for modules that are fetched and loaded at the
// same time, for what the connections hold, and for the program.
const ownMemory = 1 << 30

// DefaultComputeRate is the ComputeRate of hosted operators: one processor on average. Weights
// share the processors only among those that want them at the same time.
const DefaultComputeRate = time.Minute

// lookInterval is the interval between two looks at the streams of all running operators.
const lookInterval = 5 * time.Second

// Options configure a host. Fetch and Identities are required.
type Options struct {
	Fetch      Fetch
	Identities Identities

	// Gateway lets the API server reach admission handlers. Nil: operators with such handlers
	// are refused.
	Gateway Gateway

	// Replica makes the host one of several with the same declarations. Nil: there are no others.
	Replica Replica

	// Places are the namespaces of the cluster. Nil: operators with a selector of namespaces are
	// refused.
	Places *places.Places

	// Name names the host in the statuses that it reports, so that two hosts without Replica notice each other. With Replica,
	// it is unused.
	Name string

	// Memory is what the process may use, in bytes, as the limit of a container. The host keeps 1 GiB of it, or half. All operators together
	// get the rest, and those of one namespace at most two thirds of that: see operator.Budget. With less than 8 GiB, the defaults of the
	// limits of memory are as much lower. 0: it is unknown, or has no limit.
	Memory int64

	// Base are the options that all operators have. Its limits and its settings are the
	// defaults of each operator. Its limits, and those settings that can cost other operators
	// something, are also the maxima: see settings.CheckMaxima.
	Base operator.Options

	// GrantedSettings are names of settings of the class grant that declarations may set, and
	// may let startup handlers set.
	GrantedSettings []string

	// Tracer returns what takes the spans of an operator. The namespace of those of the whole cluster
	// is empty. The host calls it once for each declaration. Nil: Base decides.
	Tracer func(namespace, name string) tracing.Tracer

	// Report is called when the status of a declaration has changed, and with nil after a
	// removed operator has stopped. It must not block. Nil reports nothing. A host that stands
	// by reports nothing, either.
	Report func(key Key, status *api.Status)

	// Hold is called before an operator may have webhooks. When it has returned, the cluster keeps the declaration until a host has
	// removed the webhooks, even if this host is killed. Nil: nothing keeps the declaration.
	Hold func(ctx context.Context, key Key, uid string) error

	Log zerolog.Logger

	// Output is what Log writes to. If it is set, the host keeps the newest records of each
	// operator: see Host.Journal. Nil: it keeps none.
	Output zerolog.LevelWriter

	create  func(ctx context.Context, o operator.Options) (instance, error) // for tests; nil: operator.New
	release func(ctx context.Context, o finalizers.Options) releaser        // for tests; nil: finalizers.New
}

// instance is an operator.Operator.
type instance interface {
	Start(ctx context.Context, ended func(error))
	Stop()
	Close(ctx context.Context) error
	Reload(ctx context.Context) (changed bool, err error)
	Replaced() int
	Ready() <-chan struct{}
	Problems() (problems []string, refused bool)
	Unserved() []string
	Unpatched() []string
	Facts() operator.Facts
	Throttles() []operator.Throttle
	Usage() operator.Usage
	Object(uid string) reactor.ObjectState
}

// Host runs the declared operators.
//
// # Guarantees
//
//   - At most one operator runs for each declaration.
//   - A declaration that is slow, or that fails, delays no other one.
//   - An operator continues while a new version of it cannot be loaded.
//   - A declaration for which nothing happens costs no goroutine, apart from those of its
//     operator.
//   - With Options.Replica, nothing is reported or removed until it leads. Operators begin no
//     handlers until then, either, unless the hosts share the objects.
type Host struct {
	options Options
	budget  *operator.Budget // nil: the memory of the process is not known
	loading *slots.Pool      // of the operators that are loaded at the same time; the owners are namespaces
	reading *slots.Pool      // of the declarations that read secrets at the same time; the owners are namespaces

	dismissals dismissals

	workers sync.WaitGroup // counts the goroutines of all tenants
	busy    sync.WaitGroup // counts the tenants that may still work on objects or on what the leader writes, while the host ends

	mu       sync.Mutex // guards the fields below
	tenants  map[Key]*tenant
	left     allowances                  // of removed declarations
	stopping map[string]int              // operators of removed declarations, by namespaces
	owners   map[string]*operator.Tenant // by the namespaces of accounts
	ctx      context.Context             //nolint:containedctx // of Run; nil before it. See RATIONALE.md: "Which structs hold a context, and why?"
	closed   bool
}

// New creates a host. Its operators run while Run does.
func New(o Options) *Host {
	if o.create == nil {
		o.create = func(ctx context.Context, o operator.Options) (instance, error) { return operator.New(ctx, o) }
	}
	if o.release == nil {
		o.release = func(ctx context.Context, o finalizers.Options) releaser { return finalizers.New(ctx, o) }
	}
	if o.Report == nil {
		o.Report = func(Key, *api.Status) {}
	}
	if o.Base.Settings == nil {
		o.Base.Settings = settings.Default()
	}
	part := 1.0
	var budget *operator.Budget
	if o.Memory > 0 {
		part = min(1, float64(o.Memory)/enoughMemory)
		budget = operator.NewBudget(o.Memory - min(o.Memory/2, ownMemory))
	}
	o.Base.Host.InstanceMemory = cmp.Or(o.Base.Host.InstanceMemory, int(part*DefaultInstanceMemory))
	o.Base.Host.CompileMemory = cmp.Or(o.Base.Host.CompileMemory, max(leastCompileMemory, int(part*compileMemory)))
	o.Base.Host.Held = o.Base.Host.Held.WithPart(part)
	o.Base.Host.ComputeRate = cmp.Or(o.Base.Host.ComputeRate, DefaultComputeRate)
	o.Base.LoopRate = cmp.Or(o.Base.LoopRate, operator.DefaultLoopRate)
	return &Host{
		options:    o,
		budget:     budget,
		loading:    slots.New(2 * processors.Number()),
		reading:    slots.New(readers),
		dismissals: dismissals{replica: o.Replica, running: map[string]int{}, never: map[string]bool{}, leaving: map[Key]string{}},
		tenants:    map[Key]*tenant{},
		left:       allowances{},
		stopping:   map[string]int{},
		owners:     map[string]*operator.Tenant{},
	}
}

// Declare declares an operator, or changes its declaration. It returns at once.
func (h *Host) Declare(d Declaration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	t := h.tenants[d.Key]
	if t == nil {
		t = newTenant(h, d.Key)
		h.tenants[d.Key] = t
	}
	t.rejoin()
	t.declare(d)
}

// Remove stops the operator of a declaration gracefully, and lets it leave as
// Spec.OnRemoval says. It returns at once. A second call for the key does not wait until the
// operator has left.
func (h *Host) Remove(key Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dismissals.forget(key)
	if t := h.tenants[key]; t != nil && !h.closed {
		h.dismissals.gone(t.uid())
		t.depart()
		t.remove()
	}
}

// IsRunning reports whether Run has begun and does not end yet.
func (h *Host) IsRunning() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ctx != nil && !h.closed
}

// Run runs the operators until the context ends. It then stops all of them gracefully, and
// waits for them.
//
// Errors: operator.ErrLeaseLost, if another replica may run the operators.
func (h *Host) Run(ctx context.Context) error {
	working := context.WithoutCancel(ctx) // of the operators, which are stopped gracefully
	var led, lost <-chan struct{}
	leave := func() error { return nil }
	defer h.workers.Wait()
	if h.options.Replica != nil {
		led, lost = h.options.Replica.Led().Done(), h.options.Replica.Lost().Done()
		leave = h.join(working)
	}
	h.begin(working)
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, t := range h.all() {
				t.look(working)
			}
			h.expire()
			continue
		case <-led:
			led = nil
			for _, t := range h.all() {
				t.start(working)
			}
			continue
		case <-lost:
		case <-ctx.Done():
		}
		h.end(working)
		return leave() // webhooks and cleanup handlers may run longer: those of other hosts run, too
	}
}

func (h *Host) begin(ctx context.Context) {
	h.mu.Lock()
	h.ctx = ctx
	h.mu.Unlock()
	for _, t := range h.all() {
		t.start(ctx)
	}
}

// end stops all operators at the same time, and waits until no tenant works on objects or on anything else that only the leader may
// change.
func (h *Host) end(ctx context.Context) {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	all := h.all()
	h.busy.Add(len(all))
	for _, t := range all {
		t.shut(ctx)
	}
	h.busy.Wait()
}

func (h *Host) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left.expire()
}

func (h *Host) all() []*tenant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.tenants))
}

// forget removes a tenant whose operator has stopped, unless it is declared again.
func (h *Host) forget(t *tenant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tenants[t.key] == t && t.isRemoved() {
		delete(h.tenants, t.key)
		t.depart() // unless Remove has
		h.stopped(t.key.Namespace)
		if t.led {
			h.options.Report(t.key, nil)
		}
	}
}

// load creates an operator. The number of operators that are loaded at the same time is
// bounded, because compilers need memory.
func (h *Host) load(ctx context.Context, d *Declaration, o operator.Options) (made instance, err error) {
	leave, err := h.enter(ctx, d)
	if err != nil {
		return nil, err
	}
	defer leave()
	defer panics.Recover(&err)
	return h.options.create(ctx, o)
}

// enter waits until another operator may be loaded. Those of one namespace have at most half of
// the places, so that others do not wait for modules that take compilers long.
func (h *Host) enter(ctx context.Context, d *Declaration) (leave func(), err error) {
	owner := d.Account().Namespace
	n, err := h.loading.Take(ctx, owner, 1)
	if err != nil {
		return nil, err
	}
	return func() { h.loading.Give(owner, n) }, nil
}

// ErrUnknown says that a host has no declaration with a key.
var ErrUnknown = errors.New("no such operator")

// Retry tries a failed declaration again at once, also one in quarantine. The number of
// failures begins again. An operator that runs as declared continues, unless it does not work: then it starts again.
//
// Errors: ErrUnknown.
func (h *Host) Retry(key Key) error {
	t, err := h.find(key)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.desired.retries++
	t.mu.Unlock()
	t.kick()
	return nil
}

// Journal returns the newest log records of an operator. They stay until its declaration is
// removed.
//
// Errors: ErrUnknown.
func (h *Host) Journal(key Key) (*journals.Journal, error) {
	t, err := h.find(key)
	if err != nil {
		return nil, err
	}
	return &t.journal, nil
}

func (h *Host) find(key Key) (*tenant, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tenants[key]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknown, key)
}
