package webhooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/reviews"
)

// Webhooks serves the handlers of an operator, and registers them with the API server.
type Webhooks struct {
	Server Server

	// Managed is the name of the configurations that Webhooks keeps in the cluster, and the
	// suffix of the webhooks' names. If it is empty, the administrator maintains the
	// configurations.
	Managed string

	// Scope limits the webhooks. Nil: they are for the whole cluster.
	Scope *Scope

	// Registrar writes the configurations. If it is nil, the operator does.
	Registrar Cluster

	// Definer defines conversions. If it is nil, the operator does.
	Definer Cluster

	// Permit refuses handlers with an error, which ends Run. It is called before the
	// configurations are written, and each minute. It may be nil.
	Permit func(ctx context.Context, handlers []reviews.Handler) error

	// Leader makes these webhooks those of one of several replicas: only the leader writes the configurations and the conversions, and
	// they stay when it ends, because another replica serves them then. Nil: there are no other replicas.
	Leader Leader

	// Detect finds the name of this machine in a local cluster, for servers that need it. It
	// returns an empty name for other clusters.
	Detect func(ctx context.Context) (string, error)

	// Renewed is called with the expiry of each certificate of the server, if it is known.
	// It may be nil.
	Renewed func(expires time.Time)

	Limits Limits
	Log    zerolog.Logger
}

// Leader is what webhooks need to know of the leader of several replicas.
type Leader interface {
	// Led returns a channel that is closed when this replica is the leader.
	Led() <-chan struct{}

	// HoldLead returns until when this replica is certainly the only leader.
	HoldLead() (until time.Time, err error)
}

// fenced writes only while this replica certainly leads: a process that has stood still must not write what it knew then.
type fenced struct {
	Cluster
	by Leader
}

// Create implements Cluster.
func (f fenced) Create(ctx context.Context, path apipath.Path, object []byte) error {
	if _, err := f.by.HoldLead(); err != nil {
		return err
	}
	return f.Cluster.Create(ctx, path, object)
}

// Patch implements Cluster.
func (f fenced) Patch(ctx context.Context, path apipath.Path, mergePatch []byte) error {
	if _, err := f.by.HoldLead(); err != nil {
		return err
	}
	return f.Cluster.Patch(ctx, path, mergePatch)
}

// clusters returns what writes the configurations, and what writes the conversions.
func (w *Webhooks) clusters(operator Operator) (registrar, definer Cluster) {
	registrar, definer = operator, operator
	if w.Registrar != nil {
		registrar = w.Registrar
	}
	if w.Definer != nil {
		definer = w.Definer
	}
	if w.Leader != nil {
		registrar, definer = fenced{registrar, w.Leader}, fenced{definer, w.Leader}
	}
	return registrar, definer
}

// led returns a channel that is closed when this replica is the leader; nil if there are no others.
func (w *Webhooks) led() <-chan struct{} {
	if w.Leader == nil {
		return nil
	}
	return w.Leader.Led()
}

// cleanTimeout bounds the last writes of the configurations.
const cleanTimeout = 10 * time.Second

// Run serves until the context ends. At the end, it first cleans the configurations, so that
// no new requests arrive, and then stops the server.
func (w *Webhooks) Run(ctx context.Context, operator Operator) error {
	registrar, definer := w.clusters(operator)
	m := &managed{permit: w.Permit, leader: w.Leader, conversions: conversions{definer, w.Log}}
	if w.Scope != nil {
		m.reach = newReach(w.Scope)
		operator = scoped{operator, m.reach}
	}
	m.operator = operator
	if w.Managed != "" {
		m.configurations = configurationsFor(w.Managed, registrar, w.Log)
	}
	if err := m.permitted(ctx, operator.Handlers()); err != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		return errors.Join(err, m.clean(last))
	}
	if w.Leader == nil { // otherwise when it leads
		if err := m.create(ctx); err != nil {
			return err
		}
	}
	handler := NewHandler(operator, w.Limits, w.Log)
	server := bind(w.Server, Environment{
		Cluster: operator, Log: w.Log, Detect: w.Detect, Expires: w.Renewed, Connections: w.Limits.Connections,
	})
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	announced := &mailbox{filled: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(serving, handler, announced.put) }() // Waited for below.
	err, gone := w.manage(ctx, m, announced, ended)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	err = errors.Join(err, m.clean(last))
	if !gone && m.asked() {
		gone, err = linger(ended, err)
	}
	stop()
	if !gone {
		err = errors.Join(err, <-ended)
	}
	handler.Wait()
	return err
}

// exitDelay is how long the server continues after the configurations are cleaned. API
// servers learn of the change a moment later, and would fail requests until then.
const exitDelay = time.Second

// linger keeps the server running for the delay, or until it ends by itself.
func linger(ended <-chan error, before error) (gone bool, err error) {
	select {
	case err := <-ended:
		return true, errors.Join(before, err)
	case <-time.After(exitDelay):
		return false, before
	}
}

// errEnded is the error of a server that has ended before its context.
var errEnded = errors.New("the webhook server has ended")

// permitInterval is the interval between two questions about rights.
const permitInterval = time.Minute

// manage reconfigures the webhooks whenever the server or the resources change. It reports
// whether the server has ended.
func (w *Webhooks) manage(ctx context.Context, m *managed, announced *mailbox, ended <-chan error) (err error, gone bool) { //nolint:revive // both say how it ended
	again := time.NewTicker(permitInterval)
	defer again.Stop()
	moved, stop := w.follow(ctx, m.reach)
	defer stop()
	waits, led := w.Leader != nil, w.led()
	for {
		select {
		case <-led:
			if err := m.create(ctx); err != nil && ctx.Err() == nil {
				return err, false
			}
			waits, led = false, nil
		case <-announced.filled:
			config := announced.get()
			m.announced = &config
		case <-moved:
			if m.announced != nil && m.reach.isWritten(w.Scope.names()) {
				continue
			}
		case <-m.operator.Changed():
		case <-again.C:
			if err := m.permitted(ctx, m.operator.Handlers()); err != nil {
				return err, false
			}
			continue
		case err := <-ended:
			if err == nil {
				err = errEnded
			}
			return err, true
		case <-ctx.Done():
			return nil, false
		}
		if m.announced == nil || waits {
			continue
		}
		if err := m.reconfigure(ctx); err != nil {
			if ctx.Err() != nil {
				err = nil
			}
			return err, false
		}
	}
}

// follow returns a channel that has a token after the namespaces of the scope have changed. The
// caller must call the function at the end.
func (w *Webhooks) follow(ctx context.Context, r *reach) (moved <-chan struct{}, stop func()) {
	if r == nil || w.Scope.Territory == nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	tokens, ended := make(chan struct{}, 1), make(chan struct{})
	go func() { // Waited for by the returned function.
		defer close(ended)
		_ = w.Scope.Territory.Follow(ctx, func([]string) { // it fails only when the context ends
			select {
			case tokens <- struct{}{}:
			default:
			}
		})
	}()
	return tokens, func() {
		cancel()
		<-ended
	}
}

// mailbox keeps the latest client config until it is read.
type mailbox struct {
	filled chan struct{}

	mu     sync.Mutex // guards config
	config ClientConfig
}

func (m *mailbox) put(config ClientConfig) {
	m.mu.Lock()
	m.config = config
	m.mu.Unlock()
	select {
	case m.filled <- struct{}{}:
	default:
	}
}

func (m *mailbox) get() ClientConfig {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.config
}
