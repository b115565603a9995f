package reactor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// choosing is a guest whose functions of selectors fail some times, and select everything then.
type choosing struct {
	*counting
	fails int
	asked []time.Time
}

func (g *choosing) Ask(context.Context, *abi.Questions, []byte, Env) (*abi.Answers, error) {
	if g.asked = append(g.asked, time.Now()); len(g.asked) <= g.fails {
		return nil, errors.New("boo")
	}
	return &abi.Answers{Answers: []abi.Verdict{{Value: abi.Raw("true")}}}, nil
}

// chosen is a handler whose resource is selected by a function.
var chosen = abi.Handler{Kind: abi.KindCreate, ID: "chosen_fn", Resource: &abi.Selector{Function: true}}

// A function of a resource selector that has failed is asked again, and what it selects then
// is served. Answers are not asked for again.
func TestSelectorsThatFailAreAskedAgain(t *testing.T) {
	guest := &choosing{counting: &counting{handlers: []abi.Handler{chosen}}, fails: 3}
	registry, err := NewRegistry(guest)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		op := configured(t, map[string]string{"peering.standalone": "true"})
		op.unanswered, op.admission = make(chan struct{}, 1), op.newAdmission()
		first, err := op.newGeneration(0, registry, calls.Options{})
		if err != nil {
			t.Fatal(err)
		}
		op.replace(first)
		ctx, cancel := context.WithCancel(t.Context())
		first.registry.bind(ctx, zerolog.Nop(), op.unanswered, askForResource(new(zerolog.Nop())))
		o := op.newObserver(newOrchestrator(), zerolog.Nop(), nil)
		o.orchestrator.prepare, o.orchestrator.started = func(dimension) {}, func() {}
		o.last = []selectors.Resource{{Group: "example.com", Version: "v1", Plural: "apples", Preferred: true, Verbs: []string{"list", "watch", "patch"}}}
		began := time.Now()
		o.resume(ctx)
		o.resume(ctx) // as after each change of a definition
		if n := len(guest.asked); n != 1 || len(o.orchestrator.resources) > 0 {
			t.Errorf("asked %d times, %d resources are served", n, len(o.orchestrator.resources))
		}
		go func() { _ = o.askAgain(ctx) }() // Ends with the test.
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(guest.asked); n != 4 || guest.asked[3].Sub(began) != 7*time.Second {
			t.Errorf("asked at %v", guest.asked)
		}
		if n := len(o.orchestrator.resources); n != 1 {
			t.Errorf("%d resources are served", n)
		}
		if registry.changing[0].Selector == first.registry.changing[0].Selector || len(registry.selections) > 0 {
			t.Error("the caller's registry has changed")
		}
		cancel()
		synctest.Wait()
	})
}

// A resource that is served already for another handler gets the new one, too.
func TestSelectorsThatFailForServedResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}
		event := abi.Handler{Kind: abi.KindEvent, ID: "event_fn", Resource: &resource}
		guest := &choosing{counting: &counting{handlers: []abi.Handler{event, chosen}, step: abi.Step{Step: abi.StepDone}}, fails: 1}
		op, stop := streaming(t, &store{objects: 3}, guest, nil)
		op.admission = op.newAdmission()
		time.Sleep(time.Minute)
		if n := guest.begun.Load(); n != 3 {
			t.Errorf("%d calls before the answer, want one for each object", n)
		}
		o := op.newObserver(newOrchestrator(), zerolog.Nop(), nil)
		o.orchestrator.prepare, o.orchestrator.started = func(dimension) {}, func() {}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = o.askAgain(ctx) }() // Ends with the test.
		time.Sleep(time.Minute)
		if n := guest.begun.Load(); n != 6 {
			t.Errorf("%d calls after the answer, want one more for each object", n)
		}
		cancel()
		stop()
	})
}
