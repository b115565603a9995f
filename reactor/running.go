package reactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// Options are what an operator is made of.
type Options struct {
	Registry *Registry
	Settings *settings.Settings // nil: the defaults

	// Logins are the host's own ways to log in. They are used, after the startup
	// handlers, if there are no login handlers; or else offered to those.
	Logins []Login

	// AllowServer and AllowProxy let login handlers choose where requests go.
	AllowServer, AllowProxy bool

	Namespaces []string // patterns; none: the whole cluster

	// Name tells the operator from others of the same process in errors.
	Name string

	// Claims are shared by operators that must not handle the same objects in the same
	// way: ErrOverlap. Nil: nobody looks.
	Claims *Claims

	// Memo is the memo of the operator; nil: an empty one.
	Memo *Memo

	// Identity is the name among the peers; by default, what Identity finds.
	Identity string

	// Liveness is the URL of the endpoint for liveness probes; none if empty.
	Liveness string

	// Calls say what requests of guests are made.
	Calls calls.Options
	// Once ends the operator when all that there is at its start is handled: without
	// an error if no handler has failed for good, else with ErrHandlersFailed.
	Once bool

	// GrantedSettings are names of settings of the class grant that the startup handlers may set.
	GrantedSettings []string

	// Webhooks makes what lets the API server reach admission handlers, of the
	// settings as they are after the startup handlers; nil if there is nothing. May be nil.
	Webhooks func(s settings.Admission) (Webhooks, error)

	Log    zerolog.Logger
	RefKey string // the field of the object's reference in log lines; "object" by default

	// Ready is called once, after the startup handlers, when the operator begins to
	// observe the cluster. May be nil.
	Ready func()
}

// Operator serves objects with the handlers of guests.
type Operator struct {
	Options
	editions
	memories  *memories
	vault     *credentials.Vault
	client    *clients.Client
	events    *events
	tasks     sync.WaitGroup // daemons and timers
	pauses    *pauses
	workers   workers // of all resources
	settling  *settling
	identity  func() string
	admission *Admission
	leave     func()       // withdraws from the peering
	exiting   atomic.Int64 // process.ultimate_exiting_timeout
	streams   streamSet
	serving   atomic.Bool   // observing the cluster
	handled   atomic.Uint64 // events of objects
	works     works
	replacing replacing
	cluster   string     // its URL
	refused   chan error // why the operator cannot go on
}

// New makes an operator. Nothing runs yet.
func New(o Options) (*Operator, error) {
	if o.Settings == nil {
		o.Settings = settings.Default()
	}
	if o.RefKey == "" {
		o.RefKey = "object"
	}
	op := &Operator{
		Options: o, memories: newMemories(), refused: make(chan error, 1), events: newEvents(o.Settings),
		pauses: newPauses(), leave: func() {}, settling: newSettling(o.Once),
	}
	if o.Memo != nil {
		op.memories.base = &o.Memo.values
	}
	op.vault = credentials.New(op.authenticate)
	op.admission = newAdmission(op)
	if o.Settings.Peering.Clusterwide == nil {
		o.Settings.Peering.Clusterwide = new(len(o.Namespaces) == 0)
	}
	first, err := op.newEdition(0, o.Registry, o.Calls)
	if err != nil {
		return nil, err
	}
	op.replace(first)
	op.replacing.initial, op.replacing.begun = *o.Settings, make(chan struct{})
	return op, nil
}

// Run starts the operator, and returns when the context has ended and all is
// finished: nil then, an error if it could not start or go on.
//
// The order: startup handlers, credentials, background handlers, resources and
// namespaces, streams. At the end: the streams stop, running handlers and the
// background handlers finish (queueing.exit_timeout), then the cleanup handlers; the last one is the withdrawal from the peering.
//
// An exit that takes longer than process.ultimate_exiting_timeout is given up:
// ErrExitTimeout. What hangs then goes on hanging; the process should end.
//
// Kopf: kopf.operator (v1.45).
func (op *Operator) Run(ctx context.Context) error {
	op.exiting.Store(int64(op.Settings.Process.UltimateExitingTimeout))
	return op.unlessStuck(ctx, op.run)
}

func (op *Operator) run(ctx context.Context) error {
	defer func() { op.present().caller.Close() }()
	if err := op.startup(ctx); ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		op.Log.Warn().Str(LoggerField, "kopf.reactor").Msg("Startup activity is only partially executed due to cancellation.")
		return nil
	} else if err != nil {
		return fmt.Errorf("startup: %w", err)
	}
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeper sync.WaitGroup
	defer keeper.Wait()
	defer stop()
	working, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	keeper.Go(func() { fail(op.vault.Run(keeping)) })
	err := op.serve(working)
	if errors.Is(err, errNoLogin) {
		return err // there is nothing to clean up
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) || errors.Is(err, errSettled) {
		err = nil
	}
	err = errors.Join(err, op.cleanup(context.WithoutCancel(ctx)))
	op.leave()
	return err
}

func (op *Operator) startup(ctx context.Context) error {
	done, err := op.perform(ctx, abi.KindStartup)
	if err != nil {
		return err
	}
	err = op.Settings.SetByGuest(wireSettings(done.settings), op.GrantedSettings)
	op.exiting.Store(int64(op.Settings.Process.UltimateExitingTimeout))
	return err
}

func (op *Operator) cleanup(ctx context.Context) error {
	_, err := op.perform(ctx, abi.KindCleanup)
	return err
}

// perform runs an activity with the present handlers.
func (op *Operator) perform(ctx context.Context, kind abi.Kind) (*activityResult, error) {
	e := op.hold()
	defer e.release()
	return op.activity(e, kind).run(ctx)
}

func (op *Operator) activity(e *edition, kind abi.Kind) *activity {
	return &activity{
		kind: kind, handlers: e.registry.activities[kind],
		settings: op.Settings, memo: op.memories.base, events: op.events, indices: e.indices, caller: e.caller, log: op.Log,
	}
}

// connected is the client; nil before the login.
func (op *Operator) connected() *clients.Client { return op.client }

// serve observes the cluster and serves what it finds, until the context ends.
func (op *Operator) serve(ctx context.Context) error {
	if p := op.Settings.Peering; !p.Standalone && !p.IsClusterwide() && len(op.Namespaces) == 0 {
		return errNoNamespace
	}
	hooks, err := op.webhooks()
	if err != nil {
		return err
	}
	log := op.Log.With().Str(LoggerField, "kopf.reactor").Logger()
	first, err := op.vault.Take(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errNoLogin, err)
	}
	op.cluster = first.Config.Host
	op.client = clients.New(op.vault, op.requestOptions, func(message string) { log.Error().Msg(message) })
	op.workers = newWorkers(op.Settings.Execution.MaxWorkers)
	initial := op.present()
	initial.registry.bind(ctx, log)
	initial.indexed.add() // until the first streams are known
	orchestrator := newOrchestrator()
	orchestrator.prepare, orchestrator.start, orchestrator.started = op.prepare, op.start, sync.OnceFunc(func() { initial.indexed.done(); close(op.replacing.begun) })
	orchestrator.launched = op.settling.begin
	op.identity = sync.OnceValue(func() string { return cmp.Or(op.Identity, Identity(ctx)) })
	op.leave = orchestrator.leave
	observer := op.newObserver(orchestrator, log, op.Namespaces)
	if op.Liveness != "" {
		serve, err := op.liveness(op.Liveness)
		if err != nil {
			return err
		}
		probing, stop := context.WithCancel(context.WithoutCancel(ctx))
		var server sync.WaitGroup
		server.Go(func() { serve(probing) })
		defer server.Wait()
		defer stop()
	}
	stopPosting := op.events.start(ctx, op.client, first.DefaultNamespace, log)
	defer stopPosting()
	defer op.works.stop()
	if err := op.works.start(ctx, op, initial); err != nil {
		return err
	}
	defer op.replacing.end()
	op.replacing.begin(ctx, observer, hooks != nil)
	return op.observe(ctx, observer, hooks)
}

// newObserver makes what finds out about the cluster.
func (op *Operator) newObserver(o *orchestrator, log zerolog.Logger, patterns []string) *observer {
	return &observer{
		client: op.client, orchestrator: o, admission: op.admission, editions: &op.editions,
		pauses: op.pauses, peering: &op.Settings.Peering,
		namespaces: selectors.ParseNamespaces(patterns), watching: op.filtered,
		scanning: !op.Settings.Scanning.Disabled, streams: &op.streams, log: log,
	}
}

// observe runs both observers and the pausing; the first error ends all.
func (op *Operator) observe(ctx context.Context, o *observer, hooks Webhooks) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var parts sync.WaitGroup
	admit := func(ctx context.Context) error { return op.admit(ctx, hooks) }
	for _, part := range []func(context.Context) error{o.observeNamespaces, o.observeResources, op.pauseDaemons, admit, op.untilSettled, op.untilRefused} {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	op.serving.Store(true)
	if op.Ready != nil {
		op.Ready()
	}
	parts.Wait()
	op.serving.Store(false)
	cancel(nil)
	parts.Go(op.stopDaemons)
	o.orchestrator.wait()
	parts.Wait()
	return context.Cause(ctx)
}

// refuse ends the operator with an error.
func (op *Operator) refuse(err error) {
	select {
	case op.refused <- err:
	default: // there is another one
	}
}

func (op *Operator) untilRefused(ctx context.Context) error {
	select {
	case err := <-op.refused:
		return err
	case <-ctx.Done():
		return nil
	}
}

// stopDaemons ends all daemons and timers at the exit of the operator. Those that
// do not end in their time are ended by force.
func (op *Operator) stopDaemons() {
	var stopping sync.WaitGroup
	daemons := op.memories.daemons()
	for _, d := range daemons {
		stopping.Go(func() {
			d.stop(abi.StopOperatorExiting)
			d.kill()
		})
	}
	stopping.Wait()
	op.tasks.Wait()
}

// start serves one dimension until the context ends.
func (op *Operator) start(ctx context.Context, d dimension) {
	if d.peering {
		op.member(ctx, d)
	} else {
		op.stream(ctx, d)
	}
}

func apiVersionOf(r selectors.Resource) string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

func scopeOf(namespace string) string {
	if namespace == "" {
		return "cluster-wide"
	}
	return "in " + quote(namespace)
}

// prepare makes all handlers wait for a stream whose objects are indexed, and the
// operator for a peering object that is mandatory.
func (op *Operator) prepare(d dimension) {
	if d.peering {
		op.pauses.set(pauseReason(d.key()), op.Settings.Peering.Mandatory)
		return
	}
	op.present().await(d)
}

func (op *Operator) requestOptions() clients.Options {
	o := requestOptions(op.Settings.Networking)
	o.WatchConnectTimeout = cmp.Or(op.Settings.Watching.ConnectTimeout, o.WatchConnectTimeout)
	return o
}

func requestOptions(n settings.Networking) clients.Options {
	connect := cmp.Or(n.ConnectTimeout, n.RequestTimeout)
	return clients.Options{
		RequestTimeout: n.RequestTimeout, ConnectTimeout: connect, WatchConnectTimeout: connect, TrustEnv: n.TrustEnv,
		Backoffs: n.ErrorBackoffs, EnforceRetryAfter: n.EnforceRetryAfter,
	}
}

// watchOptions are the options of streams that see all objects.
func (op *Operator) watchOptions() watching.Options {
	w := op.Settings.Watching
	return watching.Options{
		ServerTimeout: w.ServerTimeout, ClientTimeout: w.ClientTimeout, ReconnectBackoff: w.ReconnectBackoff,
		InactivityTimeout: w.InactivityTimeout, ChunkSize: w.ChunkSize, InitialStreaming: w.InitialStreaming,
	}
}

// filtered are the options of a stream that sees the selected objects only.
func (op *Operator) filtered(r selectors.Resource) func() watching.Options {
	return func() watching.Options {
		o, w := op.watchOptions(), op.Settings.Watching
		o.Labels, o.Fields, o.Shard = w.LabelSelectors.All(r), w.FieldSelectors.All(r), w.ShardSelectors.First(r)
		return o
	}
}
