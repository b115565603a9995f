package host

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/compiler"
	"github.com/kopf-wasm/kopf/host/prepare"
)

// TestPreparedGuestsBehaveAsBefore: guests as compilers make them answer as they did before they
// were rewritten. Generated modules are compared by the fuzz tests of package prepare.
func TestPreparedGuestsBehaveAsBefore(t *testing.T) {
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
	for _, language := range []string{"go", "rust"} {
		t.Run(language, func(t *testing.T) { preparedDoesTheSame(t, language, benchGuest(t, language)) })
	}
}

// preparedDoesTheSame compares a guest with itself before it was rewritten.
func preparedDoesTheSame(t *testing.T, language string, wasm []byte) {
	t.Helper()
	original, prepared := unprepared(t, wasm, false), loaded(t, language, wasm, Options{})
	if diff := cmp.Diff(original.registered, prepared.registered); diff != "" {
		t.Errorf("the registration differs:\n%s", diff)
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
			t.Errorf("%d bytes: the prepared guest differs:\n%s", size, diff)
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

// object is the JSON of an object with exactly so many bytes.
func object(size int) []byte {
	begin := `{"metadata":{"name":"obj1","namespace":"ns1","uid":"11111111-2222-3333-4444-555555555555"},"spec":{"field":"v1","env":[`
	last, end := `{"name":"LAST","value":"`, `"}]}}`
	var body bytes.Buffer
	body.WriteString(begin)
	for i := 0; body.Len() < size-100; i++ {
		fmt.Fprintf(&body, `{"name":"VARIABLE_%03d","value":"value-%04d"},`, i, i)
	}
	body.WriteString(last + strings.Repeat("x", max(0, size-body.Len()-len(last)-len(end))) + end)
	return body.Bytes()
}

// creation is the invocation of the handler.
func creation() *abi.Invocation {
	return &abi.Invocation{
		Kind: abi.KindCreate, ID: "create_fn", Reason: "create", Name: "obj1", Namespace: "ns1",
		UID: "11111111-2222-3333-4444-555555555555", Started: "2020-01-01T00:00:00.000000+00:00",
		Resource: &abi.ResourceInfo{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true},
	}
}

// loaded loads a guest.
func loaded(t *testing.T, name string, wasm []byte, o Options) *Module {
	t.Helper()
	m, err := Load(t.Context(), name, wasm, withCache(t, o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(context.Background()) })
	return m
}

// unprepared is a guest as it was compiled: nothing stops it, or the engine's own interruption does.
func unprepared(t *testing.T, wasm []byte, interruptible bool) *Module {
	t.Helper()
	m := bare(t, wasm)
	config := compiler.Config(m.limits().MemoryPages).WithCloseOnContextDone(interruptible)
	m.machine = &machine{runtime: wazero.NewRuntimeWithConfig(t.Context(), config)}
	source, err := prepare.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	m.imports, _ = functionsOf(source)
	m.machine.hosts, err = instantiateHost(t.Context(), m.machine.runtime, m.imports)
	if err == nil {
		m.machine.compiled, err = m.machine.runtime.CompileModule(t.Context(), wasm)
	}
	if err == nil {
		err = m.first(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}
