package handling

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/progression"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
)

// TestCallsAreMeasured: each call counts once, by its outcome, with its time.
func TestCallsAreMeasured(t *testing.T) {
	failing := func(kind string) string { return `{"step":"done","error":{"kind":"` + kind + `","message":"boo"}}` }
	tests := []struct {
		name, options string
		steps         []string
		fails         error
		retries       int
		want          meters.Calls
	}{
		{"success", ``, []string{`{"step":"wait","seconds":2}`, `{"step":"done"}`}, nil, 0, measuredCall(meters.Succeeded, 0)},
		{"temporary", ``, []string{`{"step":"wait","seconds":2}`, failing("temporary")}, nil, 1, measuredCall(meters.Temporary, 1)},
		{"an exception", ``, []string{`{"step":"wait","seconds":2}`, failing("arbitrary")}, nil, 3, measuredCall(meters.Erred, 1)},
		{"an exception that is ignored", `,"errors":"IGNORED"`, []string{`{"step":"wait","seconds":2}`, failing("arbitrary")}, nil, 0, measuredCall(meters.Ignored, 0)},
		{"permanent", ``, []string{`{"step":"wait","seconds":2}`, failing("permanent")}, nil, 0, measuredCall(meters.Failed, 0)},
		{"the last retry", `,"retries":1`, []string{`{"step":"wait","seconds":2}`, failing("arbitrary")}, nil, 0, measuredCall(meters.Failed, 0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, &reactortest.Scripted{Scripts: map[string][]string{"fn": tt.steps}}, `{"metadata":{"name":"n"}}`)
				h := s.handler(t, `{"id":"fn","resource":{"args":["x"]}`+tt.options+`}`)
				var all meters.Handlers
				h.Meter = all.Of(h.ID)
				if _, err := s.x.Attempt(t.Context(), h, s.cause, fresh(tt.retries, 0)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]meters.Calls{tt.want}, all.Read(), cmp.AllowUnexported(meters.Distribution{})); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// measuredCall is what is measured of one call of fn that takes two seconds.
func measuredCall(o meters.Outcome, retries uint64) meters.Calls {
	var took meters.Histogram
	took.Observe(2 * time.Second)
	c := meters.Calls{Handler: "fn", Reason: "create", Retries: retries, Took: took.Read()}
	c.Ended[o] = 1
	return c
}

// TestUnusualEndsAreMeasured: a handler that is not called any more is no call, one that could
// not be started is one, and so is one that is cancelled; none of them runs for ever.
func TestUnusualEndsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := &reactortest.Scripted{Scripts: map[string][]string{"slow": {`{"step":"wait","seconds":1000}`}}, Fails: map[string]error{"broken": errors.New("boo")}}
		s := newStage(t, guest, `{"metadata":{"name":"n"}}`)
		var all meters.Handlers
		attempt := func(id string, retries int, cancelled bool) {
			t.Helper()
			h := s.handler(t, `{"id":"`+id+`","resource":{"args":["x"]},"retries":5}`)
			h.Meter = all.Of(h.ID)
			ctx := t.Context()
			if cancelled {
				limited, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				ctx = limited
			}
			if _, err := s.x.Attempt(ctx, h, s.cause, fresh(retries, 0)); (err != nil) != cancelled {
				t.Fatal(err)
			}
		}
		attempt("over", 5, false)
		attempt("broken", 0, false)
		attempt("slow", 0, true)
		for _, c := range all.Read() {
			ended, exhausted := map[string]meters.Outcome{"broken": meters.Erred, "slow": meters.Cancelled}[c.Handler], uint64(0)
			if c.Handler == "over" {
				exhausted = 1
			} else if c.Ended[ended] != 1 {
				t.Errorf("%+v", c)
			}
			if c.Running != 0 || c.Exhausted != exhausted || c.Took.Count() != 1-exhausted {
				t.Errorf("%+v", c)
			}
		}
	})
}

// TestSubHandlersAreMeasured: together, and apart from their parent.
func TestSubHandlersAreMeasured(t *testing.T) {
	guest := &reactortest.Scripted{Scripts: map[string][]string{
		"fn":   {`{"step":"execute","children":[{"kind":"sub","id":"a"},{"kind":"sub","id":"b"}]}`, `{"step":"done","error":{"kind":"children","message":""}}`},
		"fn/a": {`{"step":"done","error":{"kind":"temporary","message":"later"}}`},
	}}
	s := newStage(t, guest, `{"metadata":{"name":"n"}}`)
	s.x.Lifecycle = progression.AllAtOnce
	h := s.handler(t, `{"id":"fn","resource":{"args":["x"]}}`)
	var all meters.Handlers
	h.Meter = all.Of(h.ID)
	if _, err := s.x.Attempt(t.Context(), h, s.cause, fresh(0, 0)); err != nil {
		t.Fatal(err)
	}
	found := all.Read()
	if len(found) != 2 || found[0].Ended[meters.Unfinished] != 1 || found[1].Handler != "fn/*" || found[1].Reason != "create" || found[1].Ended[meters.Temporary] != 1 || found[1].Ended[meters.Succeeded] != 1 {
		t.Errorf("%+v", found)
	}
}

// TestWhyHandlersAreCalled: for the reason of a change, else for what the handler is.
func TestWhyHandlersAreCalled(t *testing.T) {
	s := newStage(t, &reactortest.Scripted{}, `{"metadata":{"name":"n"}}`)
	object := s.cause.Object
	for _, tt := range []struct {
		kind  Kind
		spec  abi.Kind
		wants string
	}{
		{&Change{Reason: causes.Update}, abi.KindField, "update"},
		{&Change{Reason: causes.Update, Initial: true}, abi.KindResume, "update"},
		{&Change{Reason: causes.Delete}, abi.KindDelete, "delete"},
		{&Change{Reason: causes.Noop}, abi.KindIndex, "index"},
		{RawEvent{}, abi.KindEvent, "event"},
		{&Activity{}, abi.KindLogin, "login"},
		{nil, abi.KindTimer, "timer"},
	} {
		h := s.handler(t, `{"id":"fn","kind":"`+string(tt.spec)+`","resource":{"args":["x"]}`+map[abi.Kind]string{abi.KindField: `,"field":["spec"]`}[tt.spec]+`}`)
		if got := NewCause(object, tt.kind).Why(h); got != tt.wants {
			t.Errorf("%s for %T: %q, want %q", tt.spec, tt.kind, got, tt.wants)
		}
	}
}
