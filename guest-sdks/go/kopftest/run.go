package kopftest

import (
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/hooks"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// Outcome is how a handler ended, as a host sees it.
type Outcome struct {
	Result kopf.View  // nothing if there is none
	Error  *abi.Error // nil on success
	Patch  kopf.View  // nothing if there is none

	// Children are the outcomes of sub-handlers, by their full ids.
	Children map[string]Outcome

	transforms guest.Transforms
}

// Run calls a handler, and its sub-handlers once each, as a host does: with panics
// turned into errors, and with sub-handlers that did not succeed making the
// parent pending.
func (h *Host) Run(c *kopf.Change, fn kopf.ChangeFunc) Outcome {
	return h.outcome(hooks.Finish(c, func() (any, error) { return fn(c) }))
}

// outcome runs the declared sub-handlers of a handler that ended.
func (h *Host) outcome(t *guest.Task, done guest.Done) Outcome {
	o := Outcome{Error: done.Error, Children: h.executed[t.ID], transforms: done.Transforms}
	if done.Result != nil {
		o.Result = kopf.JSON(done.Result)
	}
	if done.Patch != nil {
		o.Patch = kopf.JSON(done.Patch)
	}
	if h.runAll(t, done.Children) {
		o.Error = &abi.Error{Kind: abi.ErrorChildren, Message: kopf.ErrChildrenPending.Error()}
	}
	o.Children = h.executed[t.ID]
	return o
}

// runAll runs sub-handlers, and tells whether some are to be called again.
func (h *Host) runAll(parent *guest.Task, children []*guest.Handler) (pending bool) {
	for _, child := range children {
		call := parent.Call
		call.ID += "/" + child.Declaration.ID
		call.Param = child.Declaration.Param
		h.tasks++
		t := &guest.Task{ID: h.tasks, Call: call, Body: parent.Body, Host: parent.Host}
		t.Suspend = func(step *abi.Step) abi.Answer { return h.suspend(t, step) }
		h.segments[t.ID] = h.segments[parent.ID]
		outcome := h.outcome(t, child.Run(t))
		if h.executed[parent.ID] == nil {
			h.executed[parent.ID] = map[string]Outcome{}
		}
		h.executed[parent.ID][call.ID] = outcome
		pending = pending || outcome.Error != nil && outcome.Error.Kind != abi.ErrorPermanent
	}
	return pending
}

// suspend fulfils a wish of a handler.
func (h *Host) suspend(t *guest.Task, step *abi.Step) abi.Answer {
	switch step.Step {
	case abi.StepWait:
		var d time.Duration
		if step.Seconds != nil {
			d = time.Duration(*step.Seconds * float64(time.Second))
		}
		h.Waits = append(h.Waits, d)
		return abi.Answer{Stopped: abi.StopNames(fake{h}.Stopped(t.ID))}
	case abi.StepExecute:
		return abi.Answer{Pending: h.runAll(t, t.Children())}
	case abi.StepCall:
		return h.respond(step.Call)
	}
	return abi.Answer{Error: &abi.Error{Kind: abi.ErrorPermanent, Message: "kopftest does not know this step"}}
}

// Edited is a body after the transformation functions of the handler (Patch.Edit).
func (o Outcome) Edited(body any) (kopf.Map, error) {
	text, err := kopf.Encode(body)
	if err != nil {
		return nil, err
	}
	result := o.transforms.Apply(text)
	if result.Error != nil {
		return nil, kopf.Permanent(result.Error.Message)
	}
	return kopf.JSON(result.Body).Map(), nil
}
