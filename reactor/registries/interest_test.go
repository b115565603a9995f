package registries

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/filters"
	"github.com/kopf-wasm/kopf/reactor/interests"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

func TestInterest(t *testing.T) {
	raw := func(text string) abi.Raw { return abi.Raw(text) }
	tests := []struct {
		name     string
		handlers []abi.Handler
		want     *interests.Interest
	}{
		{"no handlers: they may follow", nil, nil},
		{"a handler without filters", []abi.Handler{
			{Kind: abi.KindEvent, Labels: map[string]abi.Raw{"a": raw(`"b"`)}}, {Kind: abi.KindCreate},
		}, nil},
		{"only filters that cannot be indexed", []abi.Handler{
			{Kind: abi.KindEvent, Labels: map[string]abi.Raw{"a": raw(`{"$":"ABSENT"}`)}},
		}, nil},
		{"a function", []abi.Handler{{Kind: abi.KindEvent, Labels: map[string]abi.Raw{"a": raw(`{"$":"FUNCTION"}`)}}}, nil},
		{"a value that no label has", []abi.Handler{{Kind: abi.KindEvent, Labels: map[string]abi.Raw{"a": raw(`1`)}}}, nil},
		{"labels of all kinds of handlers", []abi.Handler{
			{Kind: abi.KindEvent, Labels: map[string]abi.Raw{"a": raw(`"1"`), "x": raw(`{"$":"ABSENT"}`)}},
			{Kind: abi.KindIndex, Labels: map[string]abi.Raw{"a": raw(`"2"`)}},
			{Kind: abi.KindDaemon, Labels: map[string]abi.Raw{"a": raw(`{"$":"PRESENT"}`), "b": raw(`{"$":"VALUE","value":"3"}`)}},
			{Kind: abi.KindUpdate, Labels: map[string]abi.Raw{"a": raw(`"1"`)}},
		}, &interests.Interest{Finalizer: "f", Labels: [][]filters.Label{
			{{Key: "a", Value: "1"}}, {{Key: "a", Any: true}, {Key: "b", Value: "3"}}, {{Key: "a", Value: "2"}},
		}}},
		{
			"resuming",
			[]abi.Handler{{Kind: abi.KindResume, Labels: map[string]abi.Raw{"a": raw(`"1"`)}}},
			&interests.Interest{Finalizer: "f", Resuming: true, Labels: [][]filters.Label{{{Key: "a", Value: "1"}}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handlers := &Handlers{}
			for _, spec := range tt.handlers {
				h, err := NewHandler(spec)
				if err != nil {
					t.Fatal(err)
				}
				switch spec.Kind {
				case abi.KindEvent:
					handlers.Watching = append(handlers.Watching, h)
				case abi.KindIndex:
					handlers.Indexing = append(handlers.Indexing, h)
				case abi.KindDaemon:
					handlers.Spawning = append(handlers.Spawning, h)
				default:
					handlers.Changing = append(handlers.Changing, h)
				}
			}
			if diff := cmp.Diff(tt.want, handlers.Interest("f")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An operator can have 10,000 handlers, for each of many resources. What the host computes for them is in proportion.
func TestManyHandlersAreCollected(t *testing.T) {
	prefix := strings.Repeat("x", 200)
	r := &Registry{}
	for i := range 10_000 {
		spec := abi.Handler{Kind: abi.KindUpdate, Resource: &abi.Selector{Plural: "things"}, ID: fmt.Sprint(prefix, i), Labels: map[string]abi.Raw{}}
		for n := range 30 {
			spec.Labels[fmt.Sprint("l", n)] = abi.Raw(`"` + prefix[:60] + `"`)
		}
		spec.Labels["z"] = abi.Raw(fmt.Sprintf("%q", fmt.Sprint(i)))
		h, err := NewHandler(spec)
		if err != nil {
			t.Fatal(err)
		}
		r.Changing = append(r.Changing, h)
	}
	done := make(chan struct{})
	go func() { // Until it is done, or the process ends.
		defer close(done)
		for range 8 {
			if n := len(r.ForResource(selectors.Resource{Group: "g", Version: "v1", Kind: "Thing", Plural: "things", Preferred: true}).Interest("f").Labels); n != 10_000 {
				t.Errorf("%d handlers", n)
				return
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it still computes")
	}
}
