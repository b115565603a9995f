package handling

import (
	"context"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

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
