package processing

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/queueing"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/watching"
)

// BenchmarkEvent measures the work of the reactor for the life of one object, without the guest and
// the API server: its creation, the event of the patch, and its deletion. It does so next to
// further objects, handlers of another resource, and operators of the process. None of these should
// make a difference.
//
// `driver -plot` of test/bench makes the plot of docs/benchmarks.md from its output.
func BenchmarkEvent(b *testing.B) {
	for _, other := range []struct {
		what string
		put  func(b *testing.B, server *reactortest.Recorded, n int) (measured *Processor, others any)
	}{
		{"objects", withObjects}, {"handlers", withHandlers}, {"operators", withOperators},
	} {
		for _, n := range []int{10, 100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s=%d", other.what, n), func(b *testing.B) {
				server := &reactortest.Recorded{}
				event := recordCreation(b, server)
				p, others := other.put(b, server, n)
				live(b, p, server, event)
				runtime.KeepAlive(others)
			})
		}
	}
}

// live measures the lives of objects.
func live(b *testing.B, p *Processor, server *reactortest.Recorded, event watching.Event) {
	b.Helper()
	created, q := event.Object, queueing.Alone()
	event.Meta.UID = "measured"
	b.ReportAllocs()
	for b.Loop() {
		event.Type, event.Object = watching.Added, created
		p.handleOne(b.Context(), queueing.Item{Event: event}, q)
		event.Type, event.Object = watching.Modified, server.Answer
		p.handleOne(b.Context(), queueing.Item{Event: event}, q)
		event.Type = watching.Deleted
		p.handleOne(b.Context(), queueing.Item{Event: event}, q)
	}
}

// withObjects makes an operator that has handled n objects.
func withObjects(b *testing.B, server *reactortest.Recorded, n int) (measured *Processor, others any) {
	b.Helper()
	p := newBenchProcessor(b, server)
	for i := range n {
		event := watching.Event{Type: watching.Listed, Object: server.Answer, Meta: watching.Meta{UID: fmt.Sprint("uid-", i)}}
		p.handleOne(b.Context(), queueing.Item{Event: event}, queueing.Alone())
	}
	return p, nil
}

// withHandlers makes an operator with n handlers of another resource.
func withHandlers(b *testing.B, server *reactortest.Recorded, n int) (measured *Processor, others any) {
	b.Helper()
	own, other := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}, abi.Selector{Group: new("other.dev"), Version: "v1", Plural: "others"}
	handlers := []abi.Handler{{Kind: abi.KindCreate, ID: "create_fn", Resource: &own}}
	for i := range n {
		handlers = append(handlers, abi.Handler{Kind: abi.KindCreate, ID: fmt.Sprint("other_fn", i), Resource: &other})
	}
	registry, err := registries.New(reactortest.Instant{Handlers: handlers})
	if err != nil {
		b.Fatal(err)
	}
	return newProcessor(registry, server), nil
}

// withOperators makes an operator in a process with n others, which have handled an object each.
func withOperators(b *testing.B, server *reactortest.Recorded, n int) (measured *Processor, others any) {
	b.Helper()
	all := make([]*Processor, 0, n)
	for range n {
		p, _ := withObjects(b, server, 1)
		all = append(all, p)
	}
	return newBenchProcessor(b, server), all
}
