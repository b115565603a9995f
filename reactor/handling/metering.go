package handling

import (
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/registries"
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

// measured ends what is measured of the call, once.
func (t *Conversation) measured() {
	t.counted.End(time.Since(t.began))
	if t.error != nil && t.error.Kind != abi.ErrorChildren {
		t.span.Fail(t.error.Text())
	}
	t.span.End()
	t.counted, t.span = nil, nil
}
