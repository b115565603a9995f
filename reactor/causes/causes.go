// Package causes detects why an object must be handled: which of the reasons for which
// handlers are registered lies behind an event of the watch stream.
//
// An event says only that an object exists, has changed, or is gone. The reason comes from
// the object itself: its deletion mark, its finalizers, and the difference between its
// essence and the last handled essence.
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

// No handlers are called for these reasons.
const (
	Noop Reason = "noop" // nothing relevant has changed
	Free Reason = "free" // the object is being deleted and no longer has our finalizer
	Gone Reason = "gone" // the object is deleted
)

// Handled reports whether handlers are called for the reason.
func (r Reason) Handled() bool {
	return r == Create || r == Update || r == Delete || r == Resume
}

// Title returns the reason in words, for messages: "creation" for Create.
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

// Observation is what is known about an object when an event arrives.
type Observation struct {
	EventType string       // "ADDED", "MODIFIED", "DELETED"; empty for the initial listing
	Body      dicts.Object // the body from the event
	Finalizer string       // the finalizer of this operator
	Old       dicts.Object // the last handled essence; nil if the object was never handled
	Diff      diffs.Diff   // from Old to the current essence
	Initial   bool         // not handled yet since the operator's start
}

// Cause is the reason why an object must be handled.
type Cause struct {
	Reason Reason

	// Initial means that handlers for resuming run in addition to those of the reason.
	Initial bool
}

// Detect returns the cause of an observation. Creation never combines with resuming, even
// if the object is older than the operator: an object without a handled essence is new to
// the operator.
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
