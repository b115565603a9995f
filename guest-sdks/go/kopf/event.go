package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// Event is the argument of handlers of events, see OnEvent.
type Event struct {
	Object
	Type   string // ADDED, MODIFIED, DELETED; "" in the initial listing
	Raw    View   // the whole event: type and object
	Patch  *Patch
	Events Events
}

// EventFunc is a handler of events. Its result is stored as that of a ChangeFunc.
type EventFunc = func(e *Event) (any, error)

// newEvent makes the argument of a handler of a task.
func newEvent(t *guest.Task) *Event {
	e := &Event{Raw: segment(t, abi.TagEvent, "event"), Events: Events{task: t}}
	e.Patch = e.patch.begin()
	e.init(t)
	if t.Call.EventType != nil {
		e.Type = *t.Call.EventType
	}
	return e
}

func runEvent(fn EventFunc) func(*guest.Task) guest.Done {
	return run(newEvent, func(e *Event) *Patch { return e.Patch }, fn)
}
