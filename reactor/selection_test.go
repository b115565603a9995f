package reactor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/admission"
	"github.com/kopf-wasm/kopf/reactor/calls"
	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/guests"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/observation"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// choosing is a guest whose selector functions fail a few times, and then select
// everything.
type choosing struct {
	*reactortest.Counting
	fails int
	asked []time.Time
}

func (g *choosing) Ask(context.Context, *abi.Questions, []byte, guests.Env) (*abi.Answers, error) {
	if g.asked = append(g.asked, time.Now()); len(g.asked) <= g.fails {
		return nil, errors.New("boo")
	}
	return &abi.Answers{Answers: []abi.Verdict{{Value: abi.Raw("true")}}}, nil
}

// chosen is a handler whose resource is selected by a function.
var chosen = abi.Handler{Kind: abi.KindCreate, ID: "chosen_fn", Resource: &abi.Selector{Function: true}}

// A selector function that has failed is asked again, and what it selects is served.
// Questions with an answer are not repeated.
func TestSelectorsThatFailAreAskedAgain(t *testing.T) {
	guest := &choosing{Counting: &reactortest.Counting{Handlers: []abi.Handler{chosen}}, fails: 3}
	registry, err := registries.New(guest)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		op := configured(t, map[string]string{"peering.standalone": "true"})
		op.unanswered, op.admission = make(chan struct{}, 1), admission.New(&op.generations, op.memories, op.connected, op.Settings, op.Log, op.RefKey)
		first, err := op.newGeneration(0, registry, calls.Options{})
		if err != nil {
			t.Fatal(err)
		}
		op.generations.Replace(first)
		ctx, cancel := context.WithCancel(t.Context())
		first.Registry.Bind(ctx, zerolog.Nop(), op.askLater, handling.AskForResource(new(zerolog.Nop())))
		o := op.newObserver(observation.NewOrchestrator(), zerolog.Nop(), nil)
		o.Orchestrator.Prepare, o.Orchestrator.Started = func(dimensions.Dimension) {}, func() {}
		o.Last = []selectors.Resource{{Group: "example.com", Version: "v1", Plural: "apples", Preferred: true, Verbs: []string{"list", "watch", "patch"}}}
		began := time.Now()
		o.Resume(ctx)
		o.Resume(ctx) // as after each change of a definition
		if n := len(guest.asked); n != 1 || len(o.Orchestrator.Resources) > 0 {
			t.Errorf("asked %d times, %d resources are served", n, len(o.Orchestrator.Resources))
		}
		go func() { _ = o.AskAgain(ctx) }() // It ends with the test.
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(guest.asked); n != 4 || guest.asked[3].Sub(began) != 7*time.Second {
			t.Errorf("asked at %v", guest.asked)
		}
		if n := len(o.Orchestrator.Resources); n != 1 {
			t.Errorf("%d resources are served", n)
		}
		if registry.Changing[0].Selector == first.Registry.Changing[0].Selector || len(registry.Selections) > 0 {
			t.Error("the caller's registry has changed")
		}
		cancel()
		synctest.Wait()
	})
}

// A new handler gets a resource that is already served for another handler.
func TestSelectorsThatFailForServedResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := abi.Selector{Group: new("kopf.dev"), Version: "v1", Plural: "kopfexamples"}
		event := abi.Handler{Kind: abi.KindEvent, ID: "event_fn", Resource: &resource}
		guest := &choosing{Counting: &reactortest.Counting{Handlers: []abi.Handler{event, chosen}, Step: abi.Step{Step: abi.StepDone}}, fails: 1}
		op, stop := streaming(t, &store{objects: 3}, guest, nil)
		op.admission = admission.New(&op.generations, op.memories, op.connected, op.Settings, op.Log, op.RefKey)
		time.Sleep(time.Minute)
		if n := guest.Begun.Load(); n != 3 {
			t.Errorf("%d calls before the answer, want one for each object", n)
		}
		o := op.newObserver(observation.NewOrchestrator(), zerolog.Nop(), nil)
		o.Orchestrator.Prepare, o.Orchestrator.Started = func(dimensions.Dimension) {}, func() {}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = o.AskAgain(ctx) }() // It ends with the test.
		time.Sleep(time.Minute)
		if n := guest.Begun.Load(); n != 6 {
			t.Errorf("%d calls after the answer, want one more for each object", n)
		}
		cancel()
		stop()
	})
}

// Selectors of settings can name categories and short names. A stream that kept those of the former definition would get other objects
// than the settings say, such as those of another shard.
func TestRedefinedResourcesWithSelectorsOfSettings(t *testing.T) {
	event := abi.Handler{Kind: abi.KindEvent, ID: "event_fn", Resource: &abi.Selector{Group: new("example.com"), Version: "v1", Plural: "apples"}}
	registry, err := registries.New(&reactortest.Counting{Handlers: []abi.Handler{event}})
	if err != nil {
		t.Fatal(err)
	}
	op := configured(t, map[string]string{"watching.label_selectors": `[{"resource": {"category": "fruit"}, "selector": "app=mine"}]`})
	e, err := op.newGeneration(0, registry, calls.Options{})
	if err != nil {
		t.Fatal(err)
	}
	op.generations.Replace(e)
	was := selectors.Resource{Group: "example.com", Version: "v1", Plural: "apples", Preferred: true}
	for category, alike := range map[string]bool{"all": true, "fruit": false} {
		is := was
		is.Categories = []string{category}
		if got := op.alike(was, is); got != alike {
			t.Errorf("with the category %s: alike: %t", category, got)
		}
	}
}
