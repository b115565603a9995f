//go:build !wasip1

package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/hooks"
)

func init() {
	hooks.Change = func(t *guest.Task) any { return newChange(t) }
	hooks.Event = func(t *guest.Task) any { return newEvent(t) }
	hooks.Timer = func(t *guest.Task) any { return newTimer(t) }
	hooks.Daemon = func(t *guest.Task) any { return newDaemon(t) }
	hooks.Activity = func(t *guest.Task) any { return newActivity(t) }
	hooks.Review = func(t *guest.Task) any { return newReview(t) }
	hooks.Conversion = func(t *guest.Task) any { return newConversion(t) }
	hooks.Indexed = func(t *guest.Task) any { return newIndexed(t) }
	hooks.Cause = func(t *guest.Task, value abi.Value) any { return newCause(t, value) }
	hooks.Finish = func(change any, call func() (any, error)) (*guest.Task, guest.Done) {
		c := change.(*Change)
		return c.Call.task, c.finish(call)
	}
}
