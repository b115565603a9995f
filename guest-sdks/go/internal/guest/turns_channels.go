//go:build !wasip1 || tinygo

package guest

import "github.com/kopf-wasm/kopf/abi"

// turns pass control between the goroutine of the host's calls and that of a worker. Each job has channels of its own for steps and
// answers: a goroutine that outlives its handler waits for ever, and not in the place of the next handler.
type turns struct {
	jobs    chan job
	steps   chan *abi.Step
	answers chan abi.Answer
}

// begin starts the goroutine of the worker.
func (t *turns) begin(run func(job)) {
	t.jobs = make(chan job)
	go func() {
		for next := range t.jobs {
			run(next)
		}
	}()
}

// give lets the worker run a job, and waits for its first step.
func (t *turns) give(j job) *abi.Step {
	t.steps, t.answers = make(chan *abi.Step), make(chan abi.Answer)
	t.jobs <- j
	return <-t.steps
}

// resume answers the waiting handler, and waits for its next step.
func (t *turns) resume(answer abi.Answer) *abi.Step {
	t.answers <- answer
	return <-t.steps
}

// suspend hands a wish to the host, and waits for the answer. It is called by the handler.
func (t *turns) suspend(step *abi.Step) abi.Answer {
	steps, answers := t.steps, t.answers
	steps <- step
	return <-answers
}

// finish hands the last step of a job to the host. It is called by the worker.
func (t *turns) finish(step *abi.Step) { t.steps <- step }
