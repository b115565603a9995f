package reactor

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/activities"
	"github.com/kopf-wasm/kopf/reactor/events"
)

// probing is the endpoint of liveness probes, while it is served.
type probing struct {
	connected atomic.Bool // probe handlers can make requests, and post events
	stop      func()      // further calls do nothing
}

// probe serves the endpoint, if there is one. The login comes later: it can take longer than Kubernetes waits for an answer.
func (op *Operator) probe(ctx context.Context) (*probing, error) {
	p := &probing{stop: func() {}}
	if op.Liveness == "" {
		return p, nil
	}
	serve, err := activities.Liveness(op.Liveness, func(ctx context.Context) (*activities.Result, error) {
		return op.callProbes(ctx, p.connected.Load())
	}, op.Log)
	if err != nil {
		return nil, err
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var server sync.WaitGroup
	server.Go(func() { serve(serving) }) // stop waits for it.
	p.stop = func() {
		cancel()
		server.Wait()
	}
	return p, nil
}

func (op *Operator) callProbes(ctx context.Context, connected bool) (*activities.Result, error) {
	e := op.generations.Hold()
	defer e.Release()
	a := op.activity(e, abi.KindProbe)
	if !connected {
		alone := *e.Services
		alone.Caller, alone.Events = alone.Caller.Unconnected(), events.New(op.Settings) // which posts nothing
		a.Services = &alone
	}
	return a.Run(ctx)
}
