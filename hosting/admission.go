package hosting

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/webhooks"
)

// Reasons why operators with admission handlers are refused.
var (
	errNoGateway  = errors.New("the module has handlers for admission or conversion, and this host has no server for them: see --admission-server of kopf serve")
	errConversion = errors.New("the module has handlers for conversion, which are always for the whole cluster: declare a ClusterWasmOperator without spec.scope")
)

// admission returns how the API server reaches an operator that serves these namespaces, or a
// territory.
func (h *Host) admission(d *Declaration, namespaces []string, territory operator.Territory) operator.Admission {
	refusal := func(reason string, err error) error {
		return &Refusal{Condition: api.Granted, Reason: reason, Final: true, Err: err}
	}
	if h.options.Gateway == nil {
		err := refusal("NoAdmissionServer", errNoGateway)
		return operator.Admission{Tenancy: &operator.Tenancy{Refuse: err, RefuseConversion: err}}
	}
	var scope *webhooks.Scope
	switch {
	case territory != nil:
		scope = &webhooks.Scope{Territory: territory}
	case len(namespaces) > 0:
		scope = &webhooks.Scope{Namespaces: selectors.ParseNamespaces(namespaces).Exact()}
	}
	admission := h.options.Gateway.Admission(d, scope)
	if scope != nil {
		admission.Tenancy.RefuseConversion = refusal("ConversionScope", errConversion)
	}
	return admission
}

// unregister removes the webhook configurations of an operator that has had some and has
// stopped. It is false if the step has ended before.
func (t *tenant) unregister(step context.Context) bool {
	gateway := t.host.options.Gateway
	if gateway == nil || !t.led || !t.report.hadWebhooks() {
		return true
	}
	began := time.Now()
	for pauses := (backoffs.Doubling{First: firstRetry, Most: lastRelease}); ; {
		if !t.host.holds() {
			return false
		}
		err := gateway.Remove(step, t.key)
		if err == nil {
			t.report.unregistered()
			return true
		}
		if step.Err() != nil {
			return false
		}
		last := time.Since(began) >= giveUpAfter
		t.log.Warn().Str("logger", "kopf.hosting").Err(err).Bool("last", last).Msg("The webhook configurations of the operator cannot be removed.")
		if last || backoffs.Pause(step, pauses.Next()) != nil {
			return last
		}
	}
}

// hadWebhooks reports whether the cluster may have webhooks of the operator.
func (r *reporter) hadWebhooks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.webhooks
}

// registers notes that the cluster may have webhooks of the operator from now on.
func (r *reporter) registers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.webhooks = true
}

// unregistered notes that the cluster has no webhooks of the operator any more.
func (r *reporter) unregistered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.webhooks = false
}

// needsServer reports whether a replaced operator has to run again: its first admission
// handlers need the server, or it has none any more, and its webhooks have to go.
func (t *tenant) needsServer(replaced error) bool {
	if replaced != nil {
		return errors.Is(replaced, operator.ErrNoServer)
	}
	return t.report.hadWebhooks() && t.run.op.Facts().Webhooks == 0
}

// permission is closed when an operator may have its admission handlers.
type permission chan struct{}

// permissionOf makes the permission of an operator. It changes the options of the operator: before the operator writes its webhooks, they
// call hold, then permitted, and give the permission. The webhooks may be written even if the attempt to run the operator fails.
func permissionOf(o *operator.Options, hold func(context.Context) error, permitted func()) permission {
	given := make(permission)
	tenancy := o.Admission.Tenancy
	if tenancy == nil || tenancy.Permit == nil {
		close(given)
		return given
	}
	permit, give := tenancy.Permit, sync.OnceFunc(func() { close(given) })
	tenancy.Permit = func(ctx context.Context, handlers []reviews.Handler) error {
		err := permit(ctx, handlers)
		if err == nil {
			err = hold(ctx)
		}
		if err == nil {
			permitted()
			give()
		}
		return err
	}
	return given
}

// holding is Options.Hold for a declaration.
func (h *Host) holding(d *Declaration) func(context.Context) error {
	key, uid := d.Key, d.UID
	return func(ctx context.Context) error {
		if h.options.Hold == nil {
			return nil
		}
		return h.options.Hold(ctx, key, uid)
	}
}

// wait waits until an operator may have its handlers, or has none.
func (t *tenant) wait(step context.Context, r *run, given permission) error {
	select {
	case <-r.op.Ready():
	case <-r.ended:
		return t.reaped()
	case <-step.Done():
		return step.Err()
	}
	if r.op.Facts().Webhooks == 0 {
		t.unregister(step)
		return nil
	}
	select {
	case <-given:
		return nil
	case <-r.ended:
		return t.reaped()
	case <-step.Done():
		return step.Err()
	}
}
