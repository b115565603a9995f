package reactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/reactor/admission"
)

// Webhooks lets the API server reach the admission handlers of an operator. Package
// webhooks implements it.
type Webhooks interface {
	// Serve serves until the context ends, cleans up, and then returns nil. If it returns
	// earlier, the operator ends.
	Serve(ctx context.Context, a *admission.Admission) error
}

// ErrNoServer means that the API server cannot reach the handlers for admission or conversion.
var ErrNoServer = errors.New("there are handlers for admission or conversion, but no server or tunnel is configured for them: see the setting admission.server")

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
	if err := hooks.Serve(ctx, op.admission); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	if ctx.Err() == nil {
		return errors.New("admission: the server has ended by itself")
	}
	return nil
}
