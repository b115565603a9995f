package operator

import (
	"fmt"

	"github.com/kopf-wasm/kopf/reactor/loops"
)

// DefaultLoopRate is the LoopRate of hosted operators, per minute.
const DefaultLoopRate = loops.DefaultRate

// Throttle is a limit of a rate that has held an operator back.
type Throttle struct {
	Limit  string // the name of the limit, as in SetLimit
	Times  uint64 // how often so far
	Effect string // what the limit does now, for people
}

// Throttles returns the limits of rates that have held the operator back since its start, in
// a fixed order. Those whose Times do not grow do not hold it back any more. LoopRate is
// listed only while it does, once for each object.
func (op *Operator) Throttles() []Throttle {
	var all []Throttle
	for _, loop := range op.reactor.Loops() {
		all = append(all, Throttle{"LoopRate", 1, fmt.Sprintf("%s; now it waits, and is called %d times a minute: let it change only what differs", loop, op.options.LoopRate)})
	}
	counts := op.reactor.Counts()
	var overran int64
	for _, module := range op.Modules() {
		overran += module.Usage().Overran
	}
	for _, t := range []Throttle{
		{"RequestRate", counts.RequestsDelayed, "requests to Kubernetes wait"},
		{"CallRate", counts.CallsDelayed, "requests of handlers wait"},
		{"EgressRate", counts.EgressDelayed, "requests of handlers that send many bytes wait, or fail"},
		{"EventRate", counts.EventsDelayed, "Kubernetes events wait"},
		{"LogLimit", uint64(op.options.Host.Output.Dropped()), "lines of output are dropped"},
		{"ComputeLimit", uint64(overran), "calls that compute for too long are stopped"},
		{"ComputeRate", op.options.Host.Share.Delayed(), "handlers wait for computing time"},
	} {
		if t.Times > 0 {
			all = append(all, t)
		}
	}
	return all
}
