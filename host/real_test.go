package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
)

// TestPreparedGuestsDoTheSame: guests as compilers make them answer as they did before they
// were rewritten. Generated modules are compared by the fuzz tests of package prepare.
func TestPreparedGuestsDoTheSame(t *testing.T) {
	original, prepared := unprepared(t, guestBytes(t), false), loadGo(t, Options{})
	for _, what := range []string{"count", "body", "garbage", "children", "questions", "wait", "nothing of that name"} {
		var got [2]outcome
		for i, m := range []*Module{original, prepared} {
			got[i] = outcomeOf(t, m, what, object(3000))
		}
		if diff := cmp.Diff(got[0], got[1], cmp.AllowUnexported(testEnv{})); diff != "" {
			t.Errorf("%s: the prepared guest differs (-original +prepared):\n%s", what, diff)
		}
	}
	for language, wasm := range figureGuests(t) {
		original, prepared := unprepared(t, wasm, false), loaded(t, language, wasm, Options{})
		if diff := cmp.Diff(original.registered, prepared.registered); diff != "" {
			t.Errorf("%s: the registration differs:\n%s", language, diff)
		}
		for _, size := range []int{300, 10_000, 1_000_000} {
			var got [2]*abi.Step
			for i, m := range []*Module{original, prepared} {
				task, step, err := m.Start(t.Context(), creation(), object(size), &testEnv{})
				if err != nil {
					t.Fatal(err)
				}
				task.Release(t.Context())
				got[i] = step
			}
			if diff := cmp.Diff(got[0], got[1]); diff != "" || len(got[0].Patch) == 0 {
				t.Errorf("%s, %d bytes: the prepared guest differs:\n%s", language, size, diff)
			}
		}
	}
}

// outcome is what a call did.
type outcome struct {
	Step *abi.Step
	Err  string
	Env  testEnv
}

func outcomeOf(t *testing.T, m *Module, what string, body []byte) outcome {
	t.Helper()
	var o outcome
	task, step, err := m.Start(t.Context(), invoke(what), body, &o.Env)
	if err != nil {
		o.Err = err.Error()
		return o
	}
	task.Release(t.Context())
	o.Step = step
	return o
}
