package guest

import "github.com/kopf-wasm/kopf/abi"

// worker is a goroutine that runs handlers, one after another. A new goroutine for
// each would cost more than most handlers do: its stack has to grow each time.
type worker struct {
	jobs    chan job
	steps   chan *abi.Step
	answers chan abi.Answer
	ask     func(*abi.Step) abi.Answer // suspend, of this worker
	exited  bool                       // the goroutine ended, set before the last step
}

// job is a handler to be run for a task.
type job struct {
	task    *running
	handler *Handler
}

// newWorker starts a goroutine. No goroutine waits for its end: it lives as long as the
// instance, parked, unless a handler ends it.
func newWorker() *worker {
	w := &worker{jobs: make(chan job), steps: make(chan *abi.Step), answers: make(chan abi.Answer)}
	w.ask = w.suspend
	go w.work()
	return w
}

func (w *worker) work() {
	for next := range w.jobs {
		w.run(next)
	}
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
		w.steps <- j.task.finish(done)
	}()
	if failed := Try(func() { done = j.handler.Run(&j.task.Task) }); failed != nil {
		done = Done{Outcome: abi.Outcome{Error: failed}}
	}
	returned = true
}

// suspend hands a wish to the host, and waits for the answer. It is called by the handler.
func (w *worker) suspend(step *abi.Step) abi.Answer {
	w.steps <- step
	return <-w.answers
}

// start gives a task to the worker, and waits for its first step.
func (w *worker) start(r *running, h *Handler) *abi.Step {
	r.worker, r.Suspend = w, w.ask
	w.jobs <- job{r, h}
	return <-w.steps
}

// resume answers the waiting handler, and waits for its next step.
func (w *worker) resume(answer abi.Answer) *abi.Step {
	w.answers <- answer
	return <-w.steps
}
