package operator

import (
	"time"

	"github.com/kopf-wasm/kopf/host"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// Usage is what an operator has done since it was created, and what it uses now.
type Usage struct {
	Counts  reactor.Counts
	Held    []accounts.Usage      // memory of the host that is held for handlers, by limit
	Memory  Memory                // of all instances
	Charged Memory                // of the Budget that operators share; zero: there is none
	Modules map[string]host.Usage // of the modules that serve now, by name, since each was loaded

	Handlers []meters.Calls   // calls of handlers, by handler and reason
	Requests []meters.Answers // requests to Kubernetes, by method and status
	Spans    *Spans           // of traces; nil: none are counted
	Oldest   time.Duration    // how long the oldest event has waited for a worker
}

// Object returns what the operator does for an object now. It can be called at any time.
func (op *Operator) Object(uid string) reactor.ObjectState { return op.reactor.Object(uid) }

// Spans are the spans of an operator that were recorded.
type Spans struct {
	Sent    uint64 // that a collector has accepted
	Dropped uint64 // because too many waited, or no collector has accepted them
}

// spansOf returns the spans of a tracer that counts them, or nil.
func spansOf(t tracing.Tracer) *Spans {
	counted, ok := t.(interface{ Counts() (sent, dropped uint64) }) // see traces.Source
	if !ok {
		return nil
	}
	sent, dropped := counted.Counts()
	return &Spans{sent, dropped}
}

// Memory is memory that an operator has, that of replaced modules included.
type Memory struct {
	Used    int64 // in bytes; shared pages count for each instance
	Limit   int64 // in bytes: InstanceMemory, or the Budget
	Refused int64 // how often something was refused, such as a further instance
}

// Usage returns the present usage. It can be called at any time, and looks at each object
// with waiting events.
func (op *Operator) Usage() Usage {
	u := Usage{Counts: op.reactor.Counts(), Held: op.reactor.Accounts(), Modules: map[string]host.Usage{}}
	if pool := op.options.Host.Memories; pool != nil {
		u.Memory = Memory{pool.Used(), pool.Limit(), pool.Refused()}
	}
	if tenant := op.options.Tenant; tenant != nil && tenant.Budget != nil {
		u.Charged.Limit = tenant.Budget.Limit()
		u.Charged.Used, u.Charged.Refused = op.charge.Memory()
	}
	measured := op.reactor.Meters()
	u.Handlers, u.Requests, u.Spans = measured.Handlers.Read(), measured.Requests.Read(), spansOf(op.options.Tracer)
	for _, b := range op.reactor.Backlogs() {
		u.Oldest = max(u.Oldest, b.Age)
	}
	for _, module := range op.Modules() {
		u.Modules[module.Name()] = module.Usage()
	}
	return u
}
