package kopf

import (
	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// SubHandler is a handler that is declared by another one while that runs. Its
// full id is that of the parent, a slash, and its own.
//
// See https://docs.kopf.dev/en/latest/handlers/#sub-handlers
type SubHandler struct {
	handler *guest.Handler
	err     error
}

// Sub declares a sub-handler to be given to Execute. An empty id stands for the
// name of the function.
func Sub(id string, fn ChangeFunc, opts ...UpdateOption) SubHandler {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	if d.ID == "" {
		d.ID = id
	}
	handler, err := d.build(abi.KindSub, nil, functionOf(fn, fn == nil), runChange(fn))
	return SubHandler{handler, err}
}

// Sub declares a sub-handler, which runs after this handler has returned without
// an error. Each one has its own progress and retries, and is done once for the
// change; the change is handled when all of them are:
//
//	for name, volume := range c.Spec.Get("volumes").Members() {
//		c.Sub(name, func(c *kopf.Change) (any, error) { return mount(c, volume) })
//	}
//
// The handler itself is called again while sub-handlers are unfinished, and must
// declare the same ones each time.
func (c *Change) Sub(id string, fn ChangeFunc, opts ...UpdateOption) {
	sub := Sub(id, fn, opts...)
	run := sub.handler.Run
	sub.handler.Run = func(t *guest.Task) guest.Done {
		t.Above = c
		done := run(t)
		for above := c; above != nil; above, _ = above.task.Above.(*Change) {
			above.addLate(&done)
		}
		return done
	}
	c.declare(sub)
}

// addLate adds to the outcome of a sub-handler what it has set in the patch of this handler, which has ended.
func (c *Change) addLate(done *guest.Done) {
	if !c.ended {
		return
	}
	done.Transforms.Join(c.Patch.edits)
	c.Patch.edits = guest.Transforms{}
	if len(c.Patch.root.members) == 0 && c.Patch.err == nil {
		return
	}
	c.Patch.root.merge(JSON(done.Patch).Map()) // its own patch comes last
	patch, err := c.Patch.encode()
	c.Patch.root, c.Patch.err = patchNode{}, nil
	if err == nil {
		done.Patch = patch
	} else if done.Error == nil {
		done.Error = wireError(err)
	}
}

func (c *Change) declare(subs ...SubHandler) {
	for _, sub := range subs {
		if sub.err != nil && c.problem == nil {
			c.problem = PermanentFrom(sub.err, "sub-handler")
		}
		c.subs = append(c.subs, sub.handler)
	}
}

// SubLifecycle chooses the order of the sub-handlers of this handler: AsSoonAsPossible,
// and so on. By default it is that of the operator.
func (c *Change) SubLifecycle(lifecycle string) { c.lifecycle = lifecycle }

// Execute runs sub-handlers now: those that are given, or those that were
// declared with Change.Sub if none are. If it returns ErrChildrenPending, they
// are not all finished; return it, and this handler is called again from its
// beginning, later. So what follows an Execute without an error is done once:
//
//	if err := c.Execute(kopf.Sub("prepare", prepare), kopf.Sub("mount", mount)); err != nil {
//		return nil, err
//	}
//
// Sub-handlers that failed for good count as finished.
func (c *Change) Execute(subs ...SubHandler) error {
	run := Change{}
	run.declare(subs...)
	if len(subs) == 0 {
		run.subs, c.subs = c.subs, nil
		run.problem = c.problem
	}
	if run.problem != nil {
		return run.problem
	}
	if len(run.subs) == 0 {
		return nil
	}
	patch, err := c.Patch.encode()
	if err != nil {
		return err
	}
	if c.task.Execute(run.subs, c.lifecycle, patch) {
		c.pending = true
		return ErrChildrenPending
	}
	return nil
}
