// Package causes tells why an object is to be handled: which of the reasons that
// handlers are registered for is behind an event of the watch stream.
//
// Events say only that an object is there, was changed, or is gone. The reason
// comes from the object itself: its deletion mark, its finalizers, and how its
// essence differs from the one that was handled last.
//
// Kopf: kopf._core.intents.causes, kopf._cogs.structs.finalizers.
package causes

import (
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/diffs"
)

// Reason is why an object is handled.
//
// Kopf: kopf.Reason.
type Reason string

// The reasons for which handlers are called.
const (
	Create Reason = "create"
	Update Reason = "update"
	Delete Reason = "delete"
	Resume Reason = "resume"
)

// The reasons for which no handlers are called.
const (
	Noop Reason = "noop" // nothing has changed that matters
	Free Reason = "free" // it is being deleted, and does not wait for us any more
	Gone Reason = "gone" // it is deleted
)

// Handled tells whether handlers are called for the reason.
func (r Reason) Handled() bool {
	return r == Create || r == Update || r == Delete || r == Resume
}

// Title is the reason in words, for messages: "creation" for Create.
func (r Reason) Title() string {
	switch r {
	case Create:
		return "creation"
	case Update:
		return "updating"
	case Delete:
		return "deletion"
	case Resume:
		return "resuming"
	default:
		return string(r)
	}
}

// Observation is what is known about an object when an event of it has come.
type Observation struct {
	EventType string       // "ADDED", "MODIFIED", "DELETED"; empty for the initial listing
	Body      dicts.Object // as it came with the event
	Finalizer string       // of this operator
	Old       dicts.Object // the essence that was handled last; nil if it never was
	Diff      diffs.Diff   // from that essence to the current one
	Initial   bool         // not handled yet since the operator has started
}

// Cause is why the object is to be handled.
type Cause struct {
	Reason Reason

	// Initial lets the handlers for resuming join those of the reason.
	Initial bool
}

// Detect finds the cause. Creations never mix with resuming, even if the object
// was there before the operator: an object without a handled essence is new to it.
//
// Kopf: kopf._core.intents.causes.detect_changing_cause.
func Detect(o Observation) Cause {
	deleting := DeletionOngoing(o.Body)
	switch {
	case o.EventType == "DELETED":
		return Cause{Reason: Gone, Initial: o.Initial}
	case deleting && !DeletionBlocked(o.Body, o.Finalizer):
		return Cause{Reason: Free, Initial: o.Initial}
	case deleting:
		return Cause{Reason: Delete, Initial: o.Initial}
	case o.Old == nil:
		return Cause{Reason: Create}
	case len(o.Diff) > 0:
		return Cause{Reason: Update, Initial: o.Initial}
	case o.Initial:
		return Cause{Reason: Resume, Initial: true}
	default:
		return Cause{Reason: Noop}
	}
}
