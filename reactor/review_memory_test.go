package reactor

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/heaptest"
	"github.com/kopf-wasm/kopf/reactor/admission"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// weighing is a guest that notes how much memory is used while its handlers run.
type weighing struct {
	*reactortest.Counting

	mu   sync.Mutex // guards most
	most int
}

func (g *weighing) Start(ctx context.Context, inv *abi.Invocation, body []byte, e guests.Env) (guests.Task, *abi.Step, error) {
	time.Sleep(50 * time.Millisecond) // further reviews begin meanwhile
	g.mu.Lock()
	g.most = max(g.most, heaptest.InUse())
	g.mu.Unlock()
	return g.Counting.Start(ctx, inv, body, e)
}

// admitting makes an operator with one mutating handler, and a limit of the memory of reviews.
func admitting(t *testing.T, limit int) (*Operator, *weighing) {
	t.Helper()
	guest := &weighing{Counting: counting(t, abi.Outcome{Patch: abi.Raw(`{"more":1}`)}, `{"kind":"mutate","id":"fn","resource":{"group":"kopf.dev","version":"v1","plural":"kopfexamples"},"field":["spec"]}`)}
	return reviewing(t, guest, accounts.Limits{ReviewMemory: limit}), guest
}

// counting makes a guest with handlers in JSON, which end at once with an outcome.
func counting(t *testing.T, outcome abi.Outcome, handlers ...string) *reactortest.Counting {
	t.Helper()
	all := make([]abi.Handler, len(handlers))
	for i, text := range handlers {
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return &reactortest.Counting{Handlers: all, Step: abi.Step{Step: abi.StepDone, Outcome: outcome}}
}

// reviewing makes an operator with limits that admits and converts KopfExamples.
func reviewing(t *testing.T, guest guests.Guest, limits accounts.Limits) *Operator {
	t.Helper()
	registry, err := registries.New(guest)
	if err != nil {
		t.Fatal(err)
	}
	op := configured(t, nil)
	op.account = accounts.New(limits)
	op.memories.Account = op.account
	op.admission = admission.New(&op.generations, op.memories, op.connected, op.Settings, op.Log, op.RefKey)
	first, err := op.newGeneration(0, registry, calls.Options{})
	if err != nil {
		t.Fatal(err)
	}
	op.generations.Replace(first)
	resources := []selectors.Resource{{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Preferred: true}}
	op.admission.Serve(first, resources, resources)
	return op
}

// expensive is a review of an object that takes sixty times its text when it is decoded.
func expensive(t *testing.T, items int) *reviews.Incoming {
	t.Helper()
	r, err := reviews.Decode([]byte(`{"request":{"uid":"u","operation":"CREATE","userInfo":{},"resource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},` +
		`"object":{"metadata":{"name":"x"},"spec":[` + strings.Repeat(`{"":0},`, items) + `0]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &reviews.Incoming{Request: r, Webhook: "fn/spec"}
}

// TestReviewsHaveBoundedMemory: whatever comes at once. They wait for each other, and all are answered.
func TestReviewsHaveBoundedMemory(t *testing.T) {
	const limit, items, count = 128 << 20, 40_000, 16
	op, guest := admitting(t, limit)
	incoming := make([]*reviews.Incoming, count)
	for i := range incoming {
		incoming[i] = expensive(t, items)
	}
	before := heaptest.InUse()
	var all sync.WaitGroup
	for _, in := range incoming {
		all.Go(func() {
			if verdict, err := op.admission.Review(t.Context(), in); err != nil || len(verdict.Patch) != 1 {
				t.Errorf("%v, %v", verdict, err)
			}
		})
	}
	all.Wait()
	if n := guest.Begun.Load(); n != count {
		t.Errorf("%d reviews were handled", n)
	}
	if grown := guest.most - before; grown > limit {
		t.Errorf("%d reviews take %d MiB; the limit is %d", count, grown>>20, limit>>20)
	}
	if n := reactortest.Held(op.account, accounts.Reviews); n != 0 {
		t.Errorf("%d bytes are held afterwards", n)
	}
}

// TestTooLargeReviewsNameTheLimit: a review that can never have the memory does not wait for it, and one that cannot have it
// in its time ends with it.
func TestTooLargeReviewsNameTheLimit(t *testing.T) {
	op, guest := admitting(t, 1<<20)
	_, err := op.admission.Review(t.Context(), expensive(t, 40_000))
	if err == nil || !strings.Contains(err.Error(), "--limit ReviewMemory=SIZE") || guest.Begun.Load() != 0 {
		t.Errorf("%v, %d calls", err, guest.Begun.Load())
	}
	if err := op.account.Take(accounts.Reviews, 1<<20-1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = op.admission.Review(ctx, expensive(t, 1)); err == nil || !strings.Contains(err.Error(), "ReviewMemory") {
		t.Errorf("got %v", err)
	}
	if refused := op.account.Usage()[accounts.Reviews].Refused; refused != 2 {
		t.Errorf("%d refusals", refused)
	}
}

// TestDecodingOfReviewsCounts: a tenant that sends large reviews to its own handlers let the host decode them for nothing.
func TestDecodingOfReviewsCounts(t *testing.T) {
	for items, want := range map[int]int{1: 0, 1000: 4} { // decoding, filters, applying the patch, comparing
		op, _ := admitting(t, 0)
		works := 0
		op.generations.Present().Services.Compute = func(_ context.Context, do func()) {
			works++
			do()
		}
		if _, err := op.admission.Review(t.Context(), expensive(t, items)); err != nil || works != want {
			t.Errorf("%d items: %v; %d pieces of work, want %d", items, err, works, want)
		}
	}
}
