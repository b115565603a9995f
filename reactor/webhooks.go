package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-wasm/kopf/reactor/admission"
)

// Webhooks lets the API server reach the admission handlers of an operator. Package
// webhooks implements it.
type Webhooks interface {
	// Serve serves until the context ends, cleans up, and then returns nil. If it returns
	// earlier, the operator ends. Only the leader writes what API servers know of the webhooks, and that
	// stays at the end; a nil leader means that there are no other replicas.
	Serve(ctx context.Context, a *admission.Admission, leader Leader) error
}

// Leader is what webhooks need to know of the leader of several replicas.
type Leader interface {
	Led() <-chan struct{}                   // is closed when this replica is the leader
	HoldLead() (until time.Time, err error) // until when this replica is certainly the only leader
}

// ErrNoServer means that the API server cannot reach the handlers for admission or conversion.
var ErrNoServer = errors.New("there are handlers for admission or conversion, but no server or tunnel is configured for them: add --admission-server SERVER, or set admission.server")

// webhooks makes the webhooks of the admission handlers; nil if there is nothing to serve.
func (op *Operator) webhooks() (Webhooks, error) {
	if op.DryRun != nil {
		return nil, nil
	}
	var hooks Webhooks
	var err error
	if op.Webhooks != nil {
		hooks, err = op.Webhooks(op.Settings.Admission)
	}
	switch {
	case err != nil:
		return nil, err
	case hooks == nil && op.generations.Present().Registry.NeedsServer():
		return nil, ErrNoServer
	}
	return hooks, nil
}

// admit serves the webhooks after the resources are known: earlier reviews would find no
// handlers.
func (op *Operator) admit(ctx context.Context, hooks Webhooks) error {
	if hooks == nil {
		return nil
	}
	select {
	case <-op.admission.Found():
	case <-ctx.Done():
		return nil
	}
	var leader Leader
	if op.replica != nil {
		leader = op.replica
	}
	if err := hooks.Serve(ctx, op.admission, leader); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	if ctx.Err() == nil {
		return errors.New("admission: the server has ended by itself")
	}
	return nil
}
