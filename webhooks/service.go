package webhooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Webhooks serves the handlers of an operator, and tells the API server so.
type Webhooks struct {
	Server Server

	// Managed is the name of the configurations that are kept in the cluster, and the
	// suffix of the names of the webhooks in them. Empty: somebody else makes them.
	Managed string

	// Detect finds the name of this machine in a local cluster, for servers that ask
	// for it; empty if the cluster is none.
	Detect func(ctx context.Context) (string, error)

	// Renewed is told when each certificate of the server expires, as far as it is
	// known to us; may be nil.
	Renewed func(expires time.Time)

	Limits Limits
	Log    zerolog.Logger
}

// cleanTimeout bounds the last writes.
const cleanTimeout = 10 * time.Second

// Run serves until the context ends. Then the configurations are cleaned first, so
// that nobody asks any more, and the server stops after it.
func (w *Webhooks) Run(ctx context.Context, operator Operator) error {
	m := &managed{operator: operator, conversions: conversions{operator, w.Log}}
	if w.Managed != "" {
		m.configurations = configurationsFor(w.Managed, operator, w.Log)
	}
	if err := m.create(ctx); err != nil {
		return err
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

// exitDelay is how long the server goes on when its webhooks are in no configuration any
// more: API servers learn of that a moment later, and would fail requests until then.
const exitDelay = time.Second

// linger lets the server go on for the delay, or until it ends by itself.
func linger(ended <-chan error, before error) (gone bool, err error) {
	select {
	case err := <-ended:
		return true, errors.Join(before, err)
	case <-time.After(exitDelay):
		return false, before
	}
}

// errEnded is a server that does not want to serve any more.
var errEnded = errors.New("the webhook server has ended")

// manage reconfigures the webhooks whenever the server or the resources change. It
// tells whether the server has ended.
func (w *Webhooks) manage(ctx context.Context, m *managed, announced *mailbox, ended <-chan error) (err error, gone bool) { //nolint:revive // both say how it ended
	for {
		select {
		case <-announced.filled:
			config := announced.get()
			m.announced = &config
		case <-m.operator.Changed():
		case err := <-ended:
			if err == nil {
				err = errEnded
			}
			return err, true
		case <-ctx.Done():
			return nil, false
		}
		if m.announced == nil {
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

// mailbox keeps the latest client config until it is looked at.
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
