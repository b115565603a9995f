package host

import "github.com/kopf-wasm/kopf/abi"

// longWait is the wait, in seconds, from which on the memory of a waiting instance is
// folded. Folding and unfolding take about fifty microseconds, mostly for the system's page
// operations. That is as much as a call.
const longWait = 30

// rests reports whether the instance will not be called for a while, because its only task
// waits.
func (in *instance) rests(step *abi.Step) bool {
	return len(in.tasks) == 1 && step.Step == abi.StepWait && (step.Seconds == nil || *step.Seconds >= longWait)
}

// fold reduces the memory of an instance that rests.
func (in *instance) fold() {
	if in.memory != nil {
		in.memory.Fold()
	}
}

// unfold makes the memory usable for a call.
func (in *instance) unfold() {
	if in.memory != nil {
		in.memory.Unfold()
	}
}
