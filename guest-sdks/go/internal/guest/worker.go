package guest

import "github.com/kopf-wasm/kopf/abi"

// worker is a goroutine that runs handlers, one after another. A new goroutine for
// each would cost more than most handlers do: its stack has to grow each time. It takes
// turns with the goroutine of the host's calls; how depends on the compiler.
type worker struct {
	turns
	ask    func(*abi.Step) abi.Answer // suspend, of this worker
	exited bool                       // the goroutine ended, set before the last step
	last   abi.Step                   // of the present task
}

// job is a handler to be run for a task.
type job struct {
	task    *running
	handler *Handler
}

// newWorker starts a goroutine. No goroutine waits for its end: it lives as long as the
// instance, parked, unless a handler ends it.
func newWorker() *worker {
	w := &worker{}
	w.ask = w.suspend
	w.begin(w.run)
	return w
}

// run runs one handler. It ends with the last step, whatever the handler does.
func (w *worker) run(j job) {
	var done Done
	returned := false
	defer func() {
		w.exited = !returned
		if w.exited {
			done = exited()
		}
		w.last = j.task.finish(done)
		w.finish(&w.last)
	}()
	if failed := Try(func() { done = j.handler.Run(&j.task.Task) }); failed != nil {
		done = Done{Outcome: abi.Outcome{Error: failed}}
	}
	returned = true
}

// start gives a task to the worker, and waits for its first step.
func (w *worker) start(r *running, h *Handler) *abi.Step {
	r.worker, r.Suspend = w, w.ask
	return w.give(job{r, h})
}
