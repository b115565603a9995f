package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/activities"
	"github.com/kopf-wasm/kopf/reactor/admission"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/completion"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/daemons"
	"github.com/kopf-wasm/kopf/reactor/events"
	"github.com/kopf-wasm/kopf/reactor/generations"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/loops"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/peering"
	"github.com/kopf-wasm/kopf/reactor/processing"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/stoppers"
	"github.com/kopf-wasm/kopf/reactor/streams"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// ErrRunTwice is the error of a second call of Run.
var ErrRunTwice = errors.New("the operator has been run already: make a new one for each run")

// Operator serves objects with the handlers of guests.
type Operator struct {
	Options
	generations generations.Generations
	account     *accounts.Account // nil in tests: no limits
	tally       handling.Tally
	meters      meters.Operator
	memories    *processing.Memories
	loops       *loops.Limiter // nil: no limit
	vault       *credentials.Vault
	client      *clients.Client
	early       func() *clients.Client // that of startup handlers; nil: none run
	events      *events.Recorder
	pauses      *pauses.Pauses
	runnables   *daemons.Runnables
	completion  *completion.Completion
	identity    func() string
	admission   *admission.Admission
	leave       func()       // withdraws from the peering
	exiting     atomic.Int64 // process.ultimate_exiting_timeout
	states      watching.Set // of all watches
	streams     streams.Set  // of the objects of handlers
	begun       atomic.Bool  // Run was called
	serving     atomic.Bool  // whether the operator observes the cluster
	background  activities.Background
	replica     *replica // nil: there are no other replicas
	replacing   replacing
	cluster     string          // URL of the cluster
	ending      <-chan struct{} // closed when it stops observing the cluster; set before any stream begins
	exit        *exit           // nil before Start

	unanswered chan struct{} // has a token after a function of a resource selector has failed

	unable    occasion // another operator has its objects, or there is no memory for them: it ends
	asking    occasion // such a function has failed: failed ones are asked again
	forbidden occasion // the API server has refused a request: Refused is called
}

// New makes an operator. It starts nothing.
func New(o Options) (*Operator, error) {
	if o.Settings == nil {
		o.Settings = settings.Default()
	}
	o.Settings = o.Settings.Clone()
	o.Namespaces, o.Logins, o.GrantedSettings = slices.Clone(o.Namespaces), slices.Clone(o.Logins), slices.Clone(o.GrantedSettings)
	if o.RefKey == "" {
		o.RefKey = "object"
	}
	op := &Operator{
		Options: o, memories: processing.NewMemories(), runnables: daemons.NewRunnables(), unanswered: make(chan struct{}, 1), events: events.New(o.Settings),
		pauses: pauses.New(), leave: func() {}, completion: completion.New(o.Once),
	}
	op.account, op.events.Charge = op.newAccount(), o.Charge
	op.loops = loops.New(o.LoopRate)
	op.memories.Account, op.memories.Scarce = op.account, op.unable.happen
	if o.Memo != nil {
		op.memories.Base = &o.Memo.Values
	}
	op.vault = credentials.New(op.authenticate)
	op.admission = admission.New(&op.generations, op.memories, op.connected, op.Settings, op.Log, op.RefKey)
	if o.Settings.Peering.Clusterwide == nil {
		o.Settings.Peering.Clusterwide = new(len(o.Namespaces) == 0)
	}
	first, err := op.newGeneration(0, o.Registry, o.Calls)
	if err != nil {
		return nil, err
	}
	op.generations.Replace(first)
	op.replacing.initial, op.replacing.begun = *o.Settings, make(chan struct{})
	return op, nil
}

// newAccount makes the account of the memory that is kept for handlers. If it refuses
// memory, the handler fails, and the operator logs a warning from time to time. The account must not refer to the operator:
// see accounts.Account.Refused.
func (op *Operator) newAccount() *accounts.Account {
	account, plain := accounts.New(op.Held), op.Log
	account.Charge = op.Charge
	account.Refused = func(err error) {
		log := plain.With().Str(loggers.Field, "kopf.reactor").Logger() // rarely needed, and half a kilobyte
		log.Warn().Err(err).Msg("a limit of memory for handlers is reached")
	}
	return account
}

// Accounts returns the usage of the memory limits for handlers, in a fixed order.
func (op *Operator) Accounts() []accounts.Usage { return op.account.Usage() }

// Run starts the operator and blocks until the context has ended and all work is finished.
// It returns nil then, or an error if the operator could not start or continue.
//
// Order at the start: startup handlers, credentials, background handlers, resources and
// namespaces, streams. Order at the end: streams stop; running handlers and background
// handlers finish (queueing.exit_timeout); cleanup handlers run; the operator withdraws
// from the peering. A replica withdraws, and lets another one continue, as soon as the handlers
// have finished: webhooks and cleanup handlers are those of each replica.
//
// If the exit takes longer than process.ultimate_exiting_timeout, Run returns
// ErrExitTimeout, and ends by force what is left: see Gone.
//
// An operator runs once: each later call returns ErrRunTwice and changes nothing.
//
// Kopf: kopf.operator (v1.45).
func (op *Operator) Run(ctx context.Context) error {
	done := make(chan error, 1)
	op.Start(ctx, func(err error) { done <- err })
	return <-done
}

// Start is Run that does not block: it calls ended with the error, on another goroutine. Between events,
// an operator with shared watches then has no goroutine.
func (op *Operator) Start(ctx context.Context, ended func(error)) {
	if op.begun.Swap(true) {
		go ended(ErrRunTwice) // as all other calls of it
		return
	}
	op.exiting.Store(int64(op.Settings.Process.UltimateExitingTimeout))
	op.unlessStuck(ctx, op.run, ended)
}

// run starts the operator. It calls ended when the operator has ended, after its return.
func (op *Operator) run(ctx context.Context, ended func(error)) {
	var last unwinding
	end := func(err error) {
		last.run()
		ended(err)
	}
	last.add(func() {
		op.generations.Present().Services.Caller.Close()
		op.replica.leave()
		op.Claims.Leave(op)
	})
	if err := op.startup(ctx); ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		op.Log.Warn().Str(loggers.Field, "kopf.reactor").Msg("Startup activity is only partially executed due to cancellation.")
		end(nil)
		return
	} else if err != nil {
		end(fmt.Errorf("startup: %w", err))
		return
	}
	working, fail := context.WithCancelCause(ctx)
	last.add(func() { fail(nil) })
	last.add(op.vault.Serve(context.WithoutCancel(ctx), fail))
	op.serve(working, func(err error) { end(op.afterServing(ctx, err)) })
}

// afterServing cleans up after the operator has served. It returns the error of the operator.
func (op *Operator) afterServing(ctx context.Context, err error) error {
	if errors.Is(err, errNoLogin) && !errors.Is(err, credentials.ErrDepleted) {
		return err // as in Kopf, nothing is cleaned up if a login handler has failed for good
	}
	err = op.reasonOf(ctx, err)
	op.limitExit(err)
	cleaning, cancel := context.WithCancel(context.WithoutCancel(ctx))
	relax := stoppers.AfterForce(ctx, cancel)
	err = errors.Join(err, op.cleanup(cleaning))
	relax()
	cancel()
	op.leave()
	return err
}

// reasonOf returns why the operator ends by itself; nil: it was asked to, or has done all.
func (op *Operator) reasonOf(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) || errors.Is(err, errCompleted) {
		return nil
	}
	return err
}

func (op *Operator) startup(ctx context.Context) error {
	starting, end := context.WithCancel(ctx)
	op.early = op.beforeLogin(starting)
	done, err := op.perform(ctx, abi.KindStartup)
	op.early = nil
	end()
	if err != nil {
		return err
	}
	warnings, err := op.Settings.SetByGuest(done.Settings, op.GrantedSettings)
	for _, warning := range warnings {
		op.Log.Warn().Str(loggers.Field, "kopf.reactor").Msg(strings.ToUpper(warning[:1]) + warning[1:] + ".")
	}
	op.exiting.Store(int64(op.Settings.Process.UltimateExitingTimeout))
	if op.DryRun != nil || op.shares() { // peers pause each other, and know nothing of shares
		op.Settings.Peering.Standalone = true
	}
	return err
}

func (op *Operator) cleanup(ctx context.Context) error {
	_, err := op.perform(ctx, abi.KindCleanup)
	return err
}

// perform runs an activity with the current handlers.
func (op *Operator) perform(ctx context.Context, kind abi.Kind) (*activities.Result, error) {
	e := op.generations.Hold()
	defer e.Release()
	return op.activity(e, kind).Run(ctx)
}

func (op *Operator) activity(e *generations.Generation, kind abi.Kind) *activities.Activity {
	return &activities.Activity{Kind: kind, Handlers: e.Registry.Activities[kind], Settings: op.Settings, Services: e.Services, Log: op.Log}
}

// startBackground starts the background handlers of a generation: see activities.Background.
func (op *Operator) startBackground(ctx context.Context, e *generations.Generation) error {
	return op.background.Start(ctx, op.activity(e, abi.KindBackground), e, op.runnables)
}

// newGeneration makes a generation of the operator's handlers.
func (op *Operator) newGeneration(number uint32, r *registries.Registry, o calls.Options) (*generations.Generation, error) {
	o.Served, o.Compute = op.served, op.Compute
	services := handling.Services{
		Base:    op.memories.Base,
		Account: op.account,
		Events:  op.events,
		Tally:   &op.tally,
		Meters:  &op.meters.Handlers,
		Tracer:  op.Tracer,
		Compute: op.Compute,
	}
	return generations.New(number, r, services, calls.New(o, op.connected))
}

// served returns the patterns of the namespaces that the operator serves now; none: the whole cluster.
func (op *Operator) served() []string {
	if op.Territory == nil {
		return op.Namespaces
	}
	if names := op.Territory.Names(); len(names) > 0 {
		return names
	}
	return []string{""} // matches no namespace
}

// connected returns the client for requests of guests; nil: there is none yet.
func (op *Operator) connected() *clients.Client {
	if op.client == nil && op.early != nil {
		return op.early()
	}
	return op.client
}

// serve observes the cluster and serves what it finds, until the context ends. It then calls ended.
func (op *Operator) serve(ctx context.Context, ended func(error)) {
	var last unwinding
	end := func(err error) {
		last.run()
		ended(err)
	}
	observer, hooks, err := op.connect(ctx, &last)
	if err != nil {
		end(err)
		return
	}
	op.observe(ctx, observer, hooks, end)
}

// connect prepares to serve, with the first credentials. It adds what must end after the service.
func (op *Operator) connect(ctx context.Context, last *unwinding) (*observation.Observer, Webhooks, error) {
	if p := op.Settings.Peering; !p.Standalone && !p.IsClusterwide() && len(op.Namespaces) == 0 {
		return nil, nil, errNoNamespace
	}
	hooks, err := op.webhooks()
	if err != nil {
		return nil, nil, err
	}
	probes, err := op.probe(ctx)
	if err != nil {
		return nil, nil, err
	}
	last.add(probes.stop)
	log := op.Log.With().Str(loggers.Field, "kopf.reactor").Logger()
	first, err := op.vault.Take(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, nil, err
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", errNoLogin, err)
	}
	op.cluster = first.Config.Host
	op.client = clients.New(op.vault, op.requestOptions, func(message string) { log.Error().Msg(message) })
	op.runnables.Limit(op.Settings.Execution.MaxWorkers)
	initial := op.generations.Present()
	initial.Registry.Bind(ctx, log, op.askLater, handling.AskForResource(&log))
	op.warnOfIDs(initial.Registry, log)
	initial.Indexed.Add() // until the first streams are known
	orchestrator := observation.NewOrchestrator()
	orchestrator.Prepare, orchestrator.Start, orchestrator.Started = op.prepareDimension, op.serveDimension, sync.OnceFunc(func() { initial.Indexed.Done(); close(op.replacing.begun) })
	orchestrator.Launched, orchestrator.Alike = op.completion.Begin, op.alike
	op.identity = sync.OnceValue(func() string {
		if op.Identity != "" {
			return op.Identity // without a look at the network
		}
		return peering.Identity(ctx)
	})
	op.leave = orchestrator.Leave
	observer := op.newObserver(orchestrator, log, op.Namespaces)
	op.streams.Gone, op.streams.Left = observer.Gone, observer.Left
	last.add(op.events.Start(ctx, op.client, events.NamespaceOfEvents(first.Info, initial.Services.Caller, log), log))
	last.add(probes.stop) // before the events end, which their handlers may post
	probes.connected.Store(true)
	last.add(op.background.Stop)
	if op.replica, err = op.newReplica(first.Info, log); err != nil {
		return nil, nil, err
	}
	if op.replica == nil {
		if err := op.startBackground(ctx, initial); err != nil {
			return nil, nil, err
		}
	}
	last.add(op.replacing.end)
	return observer, hooks, nil
}

// newObserver makes the observer of the cluster.
func (op *Operator) newObserver(o *observation.Orchestrator, log zerolog.Logger, patterns []string) *observation.Observer {
	return &observation.Observer{
		Client: op.client, Orchestrator: o, Admit: op.admission.Serve, Generations: &op.generations,
		Refresh: func(ctx context.Context, e *generations.Generation) {
			op.streams.Each(func(s *streams.Stream) { s.Refresh(ctx, e) })
		},
		Pauses: op.pauses, Peering: &op.Settings.Peering,
		Namespaces: selectors.ParseNamespaces(patterns), Territory: op.Territory, Watching: func(r selectors.Resource) func() watching.Options { return watching.Filtered(op.Settings, r) },
		Scanning: !op.Settings.Scanning.Disabled, Watches: op.watches(), Streams: &op.states, Unanswered: op.unanswered, Log: log,
	}
}

// observe runs both observers and the pauses. The first error ends all of them. When the
// context ends, it closes the entrance of handlers, and stops daemons while the observers
// end. Another replica can continue with the objects while the webhooks still serve. At last, it
// calls ended.
func (op *Operator) observe(ctx context.Context, o *observation.Observer, hooks Webhooks, ended func(error)) {
	ctx, cancel := context.WithCancelCause(ctx)
	op.ending = ctx.Done()
	op.replacing.begin(ctx, o, hooks != nil || op.DryRun != nil) // what a replacement starts ends with the service, also if the operator ends by itself
	accept := op.unable.begins(cancel)
	var parts, reviews, objects sync.WaitGroup
	launch := func(group *sync.WaitGroup, part func(ctx context.Context, ended func(error))) {
		group.Add(1)
		go part(ctx, func(err error) {
			if err != nil {
				cancel(err)
			}
			group.Done()
		})
	}
	run := func(group *sync.WaitGroup, part func(context.Context) error) {
		launch(group, func(ctx context.Context, ended func(error)) { ended(part(ctx)) })
	}
	begin := func(part func(context.Context) error) { run(&parts, part) }
	run(&reviews, func(ctx context.Context) error { return op.admit(ctx, hooks) })
	retire := op.lead(ctx, cancel)
	launch(&parts, o.ObserveNamespaces)
	launch(&parts, o.ObserveResources)
	begin(op.untilCompleted)
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() { // Waited for below.
		relax := stoppers.AfterForce(ctx, op.runnables.Kill)
		op.runnables.End()
		relax()
		close(stopped)
	})
	op.serving.Store(true)
	if op.Ready != nil {
		op.Ready()
	}
	inattentive := op.attend(begin, o.AskAgain)
	context.AfterFunc(ctx, func() { // It calls ended.
		op.limitExit(op.reasonOf(ctx, context.Cause(ctx)))
		inattentive()
		parts.Wait()
		objects.Go(func() {
			o.Orchestrator.Wait()
			<-stopped
			op.giveUp(context.WithoutCancel(ctx), retire)
		})
		reviews.Wait()
		op.serving.Store(false)
		cancel(nil)
		objects.Wait()
		accept()
		ended(context.Cause(ctx))
	})
}

// attend begins the parts that most operators never need, at the first occasion for each, until end is called.
// So an idle operator has no goroutines for them.
func (op *Operator) attend(begin func(part func(context.Context) error), askAgain func(context.Context) error) (end func()) {
	var last unwinding
	last.add(op.asking.begins(func(error) { begin(askAgain) }))
	last.add(op.pauses.OnPause(op.runnables.Pause))
	if op.Refused != nil {
		last.add(op.forbidden.begins(func(error) {
			begin(func(ctx context.Context) error { op.Refused(ctx, op.client); return nil })
		}))
	}
	return last.run
}

// askLater lets a function of a resource selector that has failed be asked again.
func (op *Operator) askLater() {
	select {
	case op.unanswered <- struct{}{}:
	default: // there is a token already
	}
	op.asking.happen(nil)
}

func (op *Operator) requestOptions() clients.Options {
	o := clients.OptionsOf(op.Settings.Networking)
	o.Limits, o.UserAgent, o.Wrap, o.Meter, o.Tracer = op.Limits, op.UserAgent, op.DryRun, &op.meters.Requests, op.Tracer
	o.Refused = func() { op.forbidden.happen(nil) }
	o.WatchConnectTimeout = cmp.Or(op.Settings.Watching.ConnectTimeout, o.WatchConnectTimeout)
	return o
}
