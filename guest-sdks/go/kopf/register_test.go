package kopf

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

func named(*Change) (any, error) { return nil, nil }

func TestPlainName(t *testing.T) {
	tests := []struct{ full, want string }{
		{"main.createFn", "createFn"},
		{"example.com/a.b/pkg.fn", "fn"},
		{"pkg.init", ""},
		{"main.init.0", ""},
		{"main.init.func1", ""},
		{"main.glob..func1", ""},
		{"main.createFn.func2.1", ""},
		{"main.T.Method", ""},
		{"main.(*T).Method-fm", ""},
		{"main.fn[...]", ""},
		{"", ""},
		{"main", ""},
	}
	for _, tt := range tests {
		if got := plainName(tt.full); got != tt.want {
			t.Errorf("%s is %q, want %q", tt.full, got, tt.want)
		}
	}
}

// built is a declaration with options.
func built[O option](opts []O) *declaration {
	d := new(declaration)
	for _, opt := range opts {
		d.set(opt)
	}
	return d
}

// withOptions is a handler with options of any kinds.
func withOptions(opts ...option) (*guest.Handler, error) {
	return built(opts).build(abi.KindCreate, nil, functionOf(named, false), runChange(named))
}

func TestOptions(t *testing.T) {
	yes := func(*Cause) bool { return true }
	tests := []struct {
		name string
		opts []option
		want string // besides kind, id, fn
	}{
		{
			"retrying",
			[]option{Retries(3), Timeout(time.Minute), Backoff(1500 * time.Millisecond), Errors(ErrorsPermanent)},
			`{"retries": 3, "timeout": 60, "backoff": 1.5, "errors": "PERMANENT"}`,
		},
		{"zeros are said", []option{Retries(0), Timeout(0), InitialDelay(0)}, `{"retries": 0, "timeout": 0, "initial_delay": 0}`},
		{"param", []option{Param(Map{"x": []int{1}})}, `{"param": {"x": [1]}}`},
		{"struct as a param", []option{Param(struct{ A int }{1})}, `{"param": {"A": 1}}`},
		{"deletion", []option{Optional(), Deleted()}, `{"optional": true, "deleted": true}`},
		{
			"timing",
			[]option{Interval(time.Second), Sharp(), Idle(time.Minute), InitialDelay(2 * time.Second)},
			`{"interval": 1, "sharp": true, "idle": 60, "initial_delay": 2}`,
		},
		{
			"cancellation",
			[]option{CancellationBackoff(time.Second), CancellationTimeout(2 * time.Second), CancellationPolling(3 * time.Second)},
			`{"cancellation_backoff": 1, "cancellation_timeout": 2, "cancellation_polling": 3}`,
		},
		{
			"admission",
			[]option{Operations(Creating, Deleting), Subresource("status"), Persistent(), SideEffects(), IgnoreFailures()},
			`{"operations": ["CREATE", "DELETE"], "subresource": "status", "persistent": true, "side_effects": true, "ignore_failures": true}`,
		},
		{
			"labels",
			[]option{Label("a", "x"), Label("b", Present), Label("c", Absent), Label("d", yes)},
			`{"labels": {"a": "x", "b": {"$": "PRESENT"}, "c": {"$": "ABSENT"}, "d": {"$": "FUNCTION"}}}`,
		},
		{"annotations", []option{Annotation("a", Filter(yes))}, `{"annotations": {"a": {"$": "FUNCTION"}}}`},
		{"field", []option{Field("spec.size"), Value(5)}, `{"field": ["spec", "size"], "value": 5}`},
		{
			"field with dots",
			[]option{Field("metadata", "labels", "a.b/c"), OldValue(nil), NewValue(Map{"$": 1})},
			`{"field": ["metadata", "labels", "a.b/c"], "old": {"$": "VALUE", "value": null}, "new": {"$": "VALUE", "value": {"$": 1}}}`,
		},
		{"null as a label", []option{Label("a", nil)}, `{"labels": {"a": null}}`}, // refused by the host
		{"when", []option{When(yes)}, `{"when": {"$": "FUNCTION"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := withOptions(append([]option{ID("named")}, tt.opts...)...)
			if err != nil {
				t.Fatal(err)
			}
			got := declared(t, h)
			delete(got, "kind")
			delete(got, "id")
			delete(got, "fn")
			if want := JSON([]byte(tt.want)).Map(); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// declared is the declaration of a handler as its registration has it.
func declared(t *testing.T, h *guest.Handler) Map {
	t.Helper()
	m := &guest.Module{Host: guest.Noone{}}
	m.Add(h, nil)
	return JSON(m.Register([]byte(`{}`))).Get("handlers", 0).Map()
}

func TestOptionsThatCannotBe(t *testing.T) {
	for name, opt := range map[string]option{
		"param": Param(func() {}), "value": Value(make(chan int)), "label": Label("a", complex(1, 2)),
	} {
		_, err := withOptions(ID("named"), opt)
		var registration *RegistrationError
		if !errors.As(err, &registration) || registration.Handler != "create named" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSelectors(t *testing.T) {
	type name string
	tests := []struct {
		name string
		got  Selector
		want string
	}{
		{"name", toSelector("kopfexamples"), `{"args": ["kopfexamples"]}`},
		{"string of another type", toSelector(name("kopfexamples")), `{"args": ["kopfexamples"]}`},
		{"everything", toSelector(Everything), `{"args": [{"$": "EVERYTHING"}]}`},
		{"three parts", toSelector(Resource("kopf.dev", "v1", "kopfexamples")), `{"args": ["kopf.dev", "v1", "kopfexamples"]}`},
		{"core", toSelector(Resource("", "v1", "pods")), `{"args": ["", "v1", "pods"]}`},
		{"everything in a group", toSelector(Resource("kopf.dev", Everything)), `{"args": ["kopf.dev", {"$": "EVERYTHING"}]}`},
		{
			"by parts", toSelector(Selector{Group: "g", Version: "v", Kind: "K", Plural: "p", Singular: "s", Shortcut: "x", Category: "c"}),
			`{"group": "g", "version": "v", "kind": "K", "plural": "p", "singular": "s", "shortcut": "x", "category": "c"}`,
		},
		{"by a function", toSelector(Selector{Func: func(ResourceInfo) bool { return true }}), `{"function": true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := json.Marshal(tt.got.wire())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := JSON(text).Map(), JSON([]byte(tt.want)).Map(); !reflect.DeepEqual(got, want) {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
}

func TestCombinedFilters(t *testing.T) {
	yes, no := Filter(func(*Cause) bool { return true }), Filter(func(*Cause) bool { return false })
	never := Filter(func(*Cause) bool { panic("not to be called") })
	tests := []struct {
		name string
		f    Filter
		want bool
	}{
		{"not yes", Not(yes), false},
		{"not no", Not(no), true},
		{"all of none", All(), true},
		{"all", All(yes, yes), true},
		{"not all", All(yes, no, never), false},
		{"any of none", Any(), false},
		{"any", Any(no, yes, never), true},
		{"not any", Any(no, no), false},
		{"none of none", None(), true},
		{"none", None(no, no), true},
		{"not none", None(no, yes, never), false},
	}
	for _, tt := range tests {
		if got := tt.f(nil); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestJoinedOptionsApplyInTheirOrder(t *testing.T) {
	joined := Join[CreateOption](Retries(1), Label("a", "x"), Join[CreateOption](), Join(Retries(2), Backoff(0)))
	h, err := withOptions(ID("named"), joined)
	if err != nil {
		t.Fatal(err)
	}
	d := h.Declaration
	if d.Retries == nil || *d.Retries != 2 || d.Backoff == nil || string(d.Labels["a"]) != `"x"` {
		t.Errorf("retries %v, backoff %v, labels %v", d.Retries, d.Backoff, d.Labels)
	}
}

func TestOptionsThatAreChosenAtRunTimeFitEverywhere(t *testing.T) {
	for _, opt := range []any{Interval(0), Optional(), Persistent(), Label("a", "x"), Retries(1)} {
		if _, ok := opt.(Option); !ok {
			t.Errorf("%T is no Option", opt)
		}
	}
}

func TestIDsInLowerCase(t *testing.T) {
	for name, want := range map[string]string{"checkSize": "check-size", "Check": "check", "checkHTTP2Port": "check-http2-port", "check_size": "check_size"} {
		if got := hyphenated(name); got != want {
			t.Errorf("%s: the id is %q instead of %q", name, got, want)
		}
	}
}
