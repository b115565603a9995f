package operator

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/operator/dryrun"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/claims"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// ErrExitTimeout says that the graceful exit took longer than the setting
// process.ultimate_exiting_timeout. What is left of the operator is then ended by force. The process should end, because a part of it may
// hang.
var ErrExitTimeout = reactor.ErrExitTimeout

// ErrRunTwice is the error of the second and each later call of Run on one operator.
var ErrRunTwice = reactor.ErrRunTwice

// ErrHandlersFailed says that handlers of an operator with Options.Once have failed
// permanently.
var ErrHandlersFailed = reactor.ErrHandlersFailed

// ErrOverlap says that two operators of this process would handle the same objects with the
// same finalizer or the same storage. Neither of them would see the work of the other one.
var ErrOverlap = claims.ErrOverlap

// Run loads and runs an operator until the context ends and the operator has finished its exit.
//
// # Errors
//
//   - It returns nil if the context has ended, also while the operator was loading or starting.
//   - Other errors name what failed: the file, the handler, the setting, or the cluster. A mistake in the options is
//     an error also after the context has ended.
//   - ErrHandlersFailed: see Options.Once. ErrExitTimeout: the exit took too long. ErrProgramEnded: see
//     Options.Program. ErrOverlap: another operator of this process has the same state.
func Run(ctx context.Context, o Options) error {
	op, err := New(ctx, o)
	if err != nil {
		if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
			return nil
		}
		return err
	}
	return op.Run(ctx)
}

// Operator is an operator whose modules are loaded. It runs once.
//
// See https://docs.kopf.dev/en/latest/embedding/
type Operator struct {
	options Options
	charge  *accounts.Charge // of the tenant; nil: there is none
	reactor *reactor.Operator
	cert    *certificate
	files   *files                             // the names by which the modules were read
	ready   chan struct{}                      // closed when the operator has started
	stopped chan struct{}                      // closed when the operator has to end
	stop    func()                             // closes it
	begun   atomic.Bool                        // Run was called
	cancel  atomic.Pointer[context.CancelFunc] // of Run; nil before it

	reloading sync.Mutex // one at a time

	mu      sync.Mutex // guards all below
	present []loaded   // in their order
	living  []*host.Module
	closed  bool           // no module is added to living any more
	closing sync.WaitGroup // counts the replaced modules that are being closed
}

// operatorCost is what an operator takes besides its modules and what its handlers store, in bytes: a fifth of a megabyte while it is
// idle, and as much again for its records and its metrics.
const operatorCost = 512 << 10

// configured is the size of the configuration of an operator, in bytes. A value counts once, by however many keys it is there.
func configured(o *host.Options) (size int64) {
	values := map[string]bool{}
	for _, config := range []map[string]string{o.Config, o.Secrets} {
		for key, value := range config {
			size += int64(len(key))
			if !values[value] {
				values[value] = true
				size += int64(len(value))
			}
		}
	}
	return size
}

// New loads the modules of an operator. Only their registration runs. The caller must close
// an operator that it does not run. New copies the options: the operator changes only the
// memo.
//
// Errors name the file, the handler or the setting at fault.
func New(ctx context.Context, o Options) (*Operator, error) {
	if slices.Contains(o.Namespaces, "") { // where namespaces cannot be listed, it would be the whole cluster
		return nil, errors.New("the name of a served namespace is empty: an empty list means the whole cluster")
	}
	o.Modules, o.Guests, o.Namespaces = slices.Clone(o.Modules), slices.Clone(o.Guests), slices.Clone(o.Namespaces)
	op := &Operator{options: o, cert: &certificate{}, files: &files{}, ready: make(chan struct{}), stopped: make(chan struct{})}
	op.stop = sync.OnceFunc(func() {
		close(op.stopped)
		if cancel := op.cancel.Load(); cancel != nil {
			(*cancel)()
		}
	})
	op.options.Open = op.files.noting(o.Open)
	op.options.nameReplica(ctx)
	if o.Host.Output == nil {
		op.options.Host.Output = host.NewOutputBucket(o.Host.LogLimit)
	}
	if o.Host.Share == nil {
		op.options.Host.Share = host.NewShare(o.Host.ComputeWeight, o.Host.ComputeRate)
	}
	op.charge = accounts.NewCharge(o.Tenant)
	if o.Host.Memories == nil {
		op.options.Host.Memories = host.NewMemoryPool(o.Host.InstanceMemory)
		op.options.Host.Memories.Of(op.charge)
	}
	if err := op.charge.Take(operatorCost + configured(&o.Host)); err != nil {
		return nil, err
	}
	made := false
	defer func() {
		if !made { // after a panic, too
			op.charge.Close()
		}
	}()
	all, err := op.load(ctx)
	if err != nil {
		return nil, err
	}
	op.present, op.living = all, modulesOf(all)
	op.sayUnread()
	if err := op.assemble(); err != nil {
		return nil, errors.Join(err, op.Close(ctx))
	}
	made = true
	return op, nil
}

// assemble creates the reactor for the modules.
func (op *Operator) assemble() error {
	o := &op.options
	wrap := o.dry()
	registry, granted, err := o.join(modulesOf(op.present))
	if err != nil {
		return err
	}
	initial, err := o.Admission.applied(o.Peering.applied(o.Settings))
	if err != nil {
		return err
	}
	lease, err := o.lease(o.registered(o.guests(modulesOf(op.present))))
	if err != nil {
		return err
	}
	op.reactor, err = reactor.New(reactor.Options{
		Registry:        registry,
		Settings:        initial,
		Logins:          Logins(o.Login),
		AllowServer:     o.AllowServer,
		AllowProxy:      o.AllowProxy,
		Namespaces:      o.Namespaces,
		Territory:       o.Territory,
		Name:            o.name(),
		Claims:          o.claims(),
		Precedence:      o.Precedence,
		Memo:            o.Memo,
		Compute:         o.Host.Share.Compute,
		Held:            o.Host.Held,
		Charge:          op.charge,
		Identity:        o.Identity,
		Liveness:        o.Liveness,
		Lease:           lease,
		Calls:           granted,
		Limits:          o.Limits,
		LoopRate:        o.LoopRate,
		UserAgent:       granted.UserAgent,
		Watches:         o.Watches,
		Many:            o.Many,
		Access:          o.Access,
		DryRun:          wrap,
		Once:            o.Once,
		GrantedSettings: o.GrantedSettings,
		Webhooks:        o.webhooks(op.cert, registry.NeedsServer()),
		Log:             o.Log,
		RefKey:          o.RefKey,
		Tracer:          o.Tracer,
		Refused:         op.onRefusal(),
		Ready:           op.started,
	})
	if err == nil && o.Counts != nil {
		o.Counts(op.reactor.Counts)
	}
	return err
}

// dry makes the cluster of a dry run, and returns the wrapper of transports; nil for no dry run.
func (o *Options) dry() func(http.RoundTripper) http.RoundTripper {
	if o.DryRun == nil {
		return nil
	}
	cluster := dryrun.New(o.DryRun)
	o.Calls.Withhold = func(method, url string, body []byte) { cluster.Report(dryrun.NewHTTP(method, url, body)) }
	return cluster.Wrap
}

// join creates one registry of the modules, or fails if they conflict.
func (o *Options) join(modules []*host.Module) (*registries.Registry, Calls, error) {
	guests := o.guests(modules)
	if err := checkTogether(guests); err != nil {
		return nil, Calls{}, err
	}
	if o.NoLogins {
		if err := refuseLogins(guests); err != nil {
			return nil, Calls{}, err
		}
	}
	granted, err := o.granted(modules)
	if err != nil {
		return nil, Calls{}, err
	}
	name := o.registered(guests)
	granted.UserAgent, granted.FieldManager = clients.UserAgent(version(), name), clients.FieldManager(name)
	registry, err := registries.New(guests...)
	if err == nil {
		err = o.Admission.Tenancy.check(registry)
	}
	return registry, granted, err
}

// guests returns the guests of the modules, and those of the options.
func (o *Options) guests(modules []*host.Module) []guests.Guest {
	all := make([]guests.Guest, 0, len(modules)+len(o.Guests))
	for _, module := range modules {
		all = append(all, guest{module})
	}
	all = append(all, o.Guests...)
	if o.Wrap != nil {
		for i := range all {
			all[i] = o.Wrap(all[i])
		}
	}
	return all
}

// claimed holds the claims of all operators of the process. Only a package-level variable
// can see all of them.
var claimed claims.Claims //nolint:gochecknoglobals // see RATIONALE.md: "Why do the operators of a process know of each other?"

func (o *Options) claims() *claims.Claims {
	if o.AllowOverlap {
		return nil
	}
	return &claimed
}

// name is the operator's name in messages.
func (o *Options) name() string {
	if o.Name != "" {
		return o.Name
	}
	names := slices.Clone(o.Modules)
	for _, g := range o.Guests {
		names = append(names, g.Name())
	}
	return strings.Join(names, "+")
}

func (op *Operator) started() {
	if !op.options.Simulated {
		trims.add(op)
	}
	close(op.ready)
	if op.options.Ready != nil {
		op.options.Ready()
	}
}

// Run runs the operator until the context ends or Stop is called, and then closes the
// operator. The error says what failed to start or to continue. An operator runs once: each
// later call returns ErrRunTwice without an effect.
func (op *Operator) Run(ctx context.Context) error {
	done := make(chan error, 1)
	op.Start(ctx, func(err error) { done <- err })
	return <-done
}

// Start is Run that does not block: it calls ended with the error, maybe before it returns. Between
// events, an operator with shared watches then has no goroutine.
func (op *Operator) Start(ctx context.Context, ended func(error)) {
	if op.begun.Swap(true) {
		ended(ErrRunTwice)
		return
	}
	ctx, over := op.withProgram(ctx)
	ctx, cancel := context.WithCancel(ctx)
	op.cancel.Store(&cancel)
	select {
	case <-op.stopped: // maybe before stop could see the function
		cancel()
	default:
	}
	stopServing, err := op.monitor(ctx)
	if err != nil {
		err = errors.Join(over(err), op.Close(ctx))
		cancel()
		ended(err)
		return
	}
	var others sync.WaitGroup // Waited for below.
	if op.options.Reload {
		others.Go(func() { op.follow(ctx) })
	}
	op.reactor.Start(ctx, func(err error) {
		err = over(err)
		cancel()
		free := func() error {
			others.Wait()
			return op.Close(context.WithoutCancel(ctx))
		}
		if errors.Is(err, ErrExitTimeout) { // modules still run, and must not be closed yet
			go func() { // It ends with what is left of the operator.
				<-op.reactor.Gone()
				_ = free() // Start has reported its error already
			}()
		} else {
			err = errors.Join(err, free())
		}
		trims.remove(op)
		stopServing()
		ended(err)
	})
}

// RunWith is Run with a companion. The companion begins when the operator has begun to serve, and its context ends with
// the operator. RunWith waits for its end.
func (op *Operator) RunWith(ctx context.Context, companion func(ctx context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var accompanied sync.WaitGroup
	accompanied.Go(func() { // Waited for below.
		select {
		case <-op.Ready():
			companion(ctx)
		case <-ctx.Done():
		}
	})
	err := op.Run(ctx)
	cancel()
	accompanied.Wait()
	return err
}

// monitor is that of the options. Its frame is large, and Run waits for as long as the operator
// serves.
//
//go:noinline
func (op *Operator) monitor(ctx context.Context) (stop func(), err error) {
	return op.options.monitor(ctx, monitored{op.reactor, op.cert}, op.Modules, shared{op.options.Host.Output, op.options.Host.Share, op.options.Host.Memories, op.options.Tracer})
}

// Ready returns a channel that is closed when the operator has begun to serve.
func (op *Operator) Ready() <-chan struct{} { return op.ready }

// Problems lists why the operator does not serve completely: streams of events that have no
// connection, with the last error. It is empty while everything works. If refused is true, the API server
// has answered one of them that it may not have the objects, or that the resource does not exist.
func (op *Operator) Problems() (problems []string, refused bool) {
	for _, s := range op.reactor.Streams() {
		refused = refused || (s.Forbidden || s.Missing) && !s.Paused
	}
	return readyProblems(monitored{op.reactor, op.cert}), refused
}

// Unserved says which resources of handlers cannot be served, and why: they do not exist, or are
// ambiguous.
func (op *Operator) Unserved() []string { return op.reactor.Unserved() }

// Unpatched returns the answers of the API server about resources whose objects the operator may not
// patch: nothing about them can be stored, and their handlers are called again.
func (op *Operator) Unpatched() []string { return op.reactor.Unpatched() }

// Facts describe what an operator is made of.
type Facts struct {
	Digest    string   // of the first module
	Handlers  int      // that the modules and guests register
	Webhooks  int      // of these, those that the API server calls: for admission and conversion
	Watches   bool     // whether there are handlers whose resources are watched
	Resources []string // that the operator watches now for its handlers, in alphabetical order: kopfexamples.v1.kopf.dev
	Finalizer string   // that the operator adds to objects; empty until the operator has started
}

// Facts returns the present facts. They change with the modules, and with the resources of
// the cluster.
func (op *Operator) Facts() Facts {
	var facts Facts
	count := func(handlers []abi.Handler) {
		facts.Handlers += len(handlers)
		for _, h := range handlers {
			if h.Kind == abi.KindValidate || h.Kind == abi.KindMutate || h.Kind == abi.KindConvert {
				facts.Webhooks++
			} else if h.Resource != nil {
				facts.Watches = true
			}
		}
	}
	for i, module := range op.Modules() {
		if i == 0 {
			facts.Digest = module.Digest()
		}
		count(module.Registration().Handlers)
	}
	for _, guest := range op.options.Guests {
		count(guest.Registration().Handlers)
	}
	for _, stream := range op.reactor.Streams() {
		if stream.Purpose == watching.ForHandlers {
			facts.Resources = append(facts.Resources, stream.Resource)
		}
	}
	select {
	case <-op.ready:
		facts.Finalizer = op.reactor.Finalizer()
	default: // startup handlers may still set it
	}
	slices.Sort(facts.Resources)
	facts.Resources = slices.Compact(facts.Resources)
	return facts
}

// Stop ends the operator gracefully. Run returns when the operator has ended.
func (op *Operator) Stop() { op.stop() }

// Modules returns the modules that serve now, in their order.
func (op *Operator) Modules() []*host.Module {
	op.mu.Lock()
	defer op.mu.Unlock()
	return modulesOf(op.present)
}

// Replaced returns how many modules that were replaced still have tasks: handlers that have not ended.
func (op *Operator) Replaced() int {
	op.mu.Lock()
	defer op.mu.Unlock()
	return len(op.living) - len(op.present)
}

// Close frees the modules of an operator that is not running.
func (op *Operator) Close(ctx context.Context) error {
	op.stop()
	op.mu.Lock()
	op.closed = true
	op.mu.Unlock()
	op.closing.Wait()
	op.mu.Lock()
	defer op.mu.Unlock()
	var errs []error
	for _, module := range op.living {
		errs = append(errs, module.Close(ctx))
	}
	op.living = nil
	op.charge.Close()
	return errors.Join(errs...)
}

// forget removes a module from the operator's list, because its caller closes the module.
func (op *Operator) forget(module *host.Module) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.living = slices.DeleteFunc(op.living, func(m *host.Module) bool { return m == module })
}
