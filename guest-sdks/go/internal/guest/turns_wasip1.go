//go:build wasip1 && !tinygo

package guest

import (
	"iter"
	"runtime"

	"github.com/kopf-wasm/kopf/abi"
)

// turns pass control between the goroutine of the host's calls and that of a worker: as a
// coroutine, which is switched to without the scheduler. A handler may have goroutines of its
// own, and they may suspend, too: the goroutine that suspends is the one that continues.
//
// Native programs have channels, as a coroutine ends a program in which a handler has locked its thread. Here, that locks
// nothing; but Go's runtime ends an instance if a daemon is started while another one on it has locked its thread, and has
// unlocked it since.
type turns struct {
	next    func() (*abi.Step, bool)
	yield   func(*abi.Step) bool
	job     job        // the next one
	jobs    int        // how many there were
	answer  abi.Answer // to the last step
	awaited bool       // the goroutine of the host's calls waits for a step
}

// begin starts the goroutine of the worker.
func (t *turns) begin(run func(job)) {
	t.next, _ = iter.Pull(func(yield func(*abi.Step) bool) {
		t.yield = yield
		for {
			run(t.job)
		}
	})
}

// await lets the worker continue, and waits for its next step.
func (t *turns) await() *abi.Step {
	t.awaited = true
	step, _ := t.next()
	return step
}

// give lets the worker run a job, and waits for its first step.
func (t *turns) give(j job) *abi.Step {
	t.job = j
	t.jobs++
	return t.await()
}

// resume answers the waiting handler, and waits for its next step.
func (t *turns) resume(answer abi.Answer) *abi.Step {
	t.answer = answer
	return t.await()
}

// suspend hands a wish to the host, and waits for the answer. It is called by the handler.
func (t *turns) suspend(step *abi.Step) abi.Answer {
	own := t.jobs
	if t.waitForTurn(); t.jobs != own {
		return ended(step)
	}
	t.pass(step)
	return t.answer
}

// finish hands the last step of a job to the host. It is called by the worker.
func (t *turns) finish(step *abi.Step) {
	t.waitForTurn()
	t.pass(step)
}

// waitForTurn waits until the host waits for a step.
func (t *turns) waitForTurn() {
	for !t.awaited { // a further goroutine of the handler, while a collection of garbage has interrupted the host's call
		runtime.Gosched()
	}
}

func (t *turns) pass(step *abi.Step) {
	t.awaited = false
	t.yield(step)
}
