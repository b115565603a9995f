package host

import "github.com/kopf-wasm/kopf/abi"

// longWait is from where on an instance that waits is made small, in seconds. That and its
// reverse take some fifty microseconds, most of it the system's for pages: as much as the call.
const longWait = 30

// rests tells whether the instance will not be called for a while: its only task waits.
func (in *instance) rests(step *abi.Step) bool {
	return len(in.tasks) == 1 && step.Step == abi.StepWait && (step.Seconds == nil || *step.Seconds >= longWait)
}

// fold makes the memory of an instance small that rests.
func (in *instance) fold() {
	if in.memory != nil {
		in.memory.Fold()
	}
}

// unfold makes it usable for a call.
func (in *instance) unfold() {
	if in.memory != nil {
		in.memory.Unfold()
	}
}
