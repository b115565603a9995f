package kopf

import "github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"

// Reasons of changes.
const (
	ReasonCreate = "create"
	ReasonUpdate = "update"
	ReasonDelete = "delete"
	ReasonResume = "resume"
)

// Change is the argument of handlers that change the state of an object: those of
// OnCreate, OnUpdate, OnDelete, OnResume, OnField, and sub-handlers.
type Change struct {
	Object
	Comparison

	Reason string // what happened, also for handlers of fields and of resuming
	Patch  *Patch
	Events Events

	subs      []*guest.Handler // declared, and not executed yet
	problem   error            // of the declaration of a sub-handler
	lifecycle string           // of the sub-handlers
	pending   bool             // sub-handlers are unfinished
	ended     bool             // and its sub-handlers follow
}

// ChangeFunc is a handler of changes. Its result is stored in the status of the
// object, under the id of the handler, unless it is nil.
type ChangeFunc = func(c *Change) (any, error)

// newChange makes the argument of a handler of a task.
func newChange(t *guest.Task) *Change {
	c := &Change{Reason: t.Call.Reason, Events: Events{task: t}}
	c.Patch = c.patch.begin()
	c.compare(t)
	c.init(t)
	return c
}

// runChange makes a task of a handler.
func runChange(fn ChangeFunc) func(*guest.Task) guest.Done {
	return func(t *guest.Task) guest.Done {
		c := newChange(t)
		return c.finish(func() (any, error) { return fn(c) })
	}
}

// finish calls a handler, and makes the outcome of the task.
func (c *Change) finish(call func() (any, error)) guest.Done {
	done := finish(c.Patch, func() (any, error) {
		result, err := call()
		if err == nil {
			err = c.problem
		}
		if err == nil && c.pending { // to be repeated, even if the handler overlooked it
			err = ErrChildrenPending
		}
		return result, err
	})
	if done.Error == nil {
		done.Children, done.Lifecycle = c.subs, c.lifecycle
		if c.ended = len(c.subs) > 0; c.ended { // what is set from now on is for the outcome of a sub-handler
			c.Patch.root, c.Patch.edits = patchNode{}, guest.Transforms{}
		}
	}
	return done
}
