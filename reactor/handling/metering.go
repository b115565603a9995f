package handling

import (
	"context"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// meter returns where a call of a handler for this cause counts.
func (c *Cause) meter(h *registries.Handler) *meters.Series { return h.Meter.For(c.Why(h)) }

// Why returns why a handler is called: the reason of a change, or else the kind of the handler.
func (c *Cause) Why(h *registries.Handler) string {
	if k := c.Change(); k != nil && k.Reason.Handled() {
		return string(k.Reason)
	}
	return string(h.Spec.Kind)
}

// meaning returns what an outcome means, given the error of the handler.
func (o Outcome) meaning(failure *abi.Error) meters.Outcome {
	switch {
	case failure == nil:
		return meters.Succeeded
	case failure.Kind == abi.ErrorChildren:
		return meters.Unfinished
	case !o.Failed:
		return meters.Ignored
	case o.final:
		return meters.Failed
	case failure.Kind == abi.ErrorTemporary:
		return meters.Temporary
	}
	return meters.Erred
}

// trace begins the span of a call of a handler; nil if nothing is traced.
func (c *Cause) trace(ctx context.Context, h *registries.Handler, state progression.HandlerState) *tracing.Span {
	span := tracing.Begin(ctx, c.Tracer, tracing.Internal, "handler")
	if span == nil {
		return nil
	}
	span.Rename("handler " + h.ID)
	span.Set("kopf.handler", h.ID)
	span.Set("kopf.reason", c.Why(h))
	span.SetNumber("kopf.retry", int64(state.Retries))
	c.describe(span)
	return span
}

// Trace begins the span of the handling of an event; nil if nothing is traced.
func (o *Object) Trace(ctx context.Context) *tracing.Span {
	span := tracing.Begin(ctx, o.Tracer, tracing.Internal, "event")
	if span == nil {
		return nil
	}
	if o.EventType != nil {
		span.Set("kopf.event", *o.EventType)
	}
	o.describe(span)
	return span
}

// describe sets the attributes that identify the object.
func (o *Object) describe(span *tracing.Span) {
	if o.Resource == nil {
		return
	}
	span.Set("kopf.resource", o.Resource.String())
	span.Set("k8s.namespace.name", dicts.LookupString(o.Body, "metadata", "namespace"))
	span.Set("kopf.object.name", dicts.LookupString(o.Body, "metadata", "name"))
	span.Set("kopf.object.uid", dicts.LookupString(o.Body, "metadata", "uid"))
}

// measured ends what is measured of the call, once.
func (t *Conversation) measured() {
	t.counted.End(time.Since(t.began))
	if t.error != nil && t.error.Kind != abi.ErrorChildren {
		t.span.Fail(t.error.Text())
	}
	t.span.End()
	t.counted, t.span = nil, nil
}
