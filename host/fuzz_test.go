package host

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/guests/extism"
	"github.com/kopf-wasm/kopf/host/internal/asm"
	"github.com/kopf-wasm/kopf/host/wasi"
)

// FuzzDecodeStep feeds steps that may be anything.
func FuzzDecodeStep(f *testing.F) {
	for _, text := range []string{
		`{"step":"done"}`, `{"step":"done","result":{"a":[1]},"patch":{},"transforms":1,"error":{"kind":"temporary","delay":null}}`,
		`{"step":"wait","seconds":1.5}`, `{"step":"wait","seconds":null}`, `{"step":"execute","children":[{"kind":"sub","id":"a"}]}`,
		`{"step":"call","call":{"target":"http"}}`, `{"step":"call","continue":true,"seconds":0}`, `{"step":"done","error":{"delay":"x"}}`, `[]`, `{"step":"done","patch":null,"children":null}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		step, err := decodeStep(data)
		switch {
		case err != nil && !errors.Is(err, ErrMessage):
			t.Errorf("error without its kind: %v", err)
		case err == nil && step.Step == abi.StepCall && step.Call == nil && !step.Continue:
			t.Error("a call without a call")
		}
	})
}

// everyFunction makes a guest export all host functions of some modules. The list
// says in which order.
func everyFunction(g asm.Module, modules ...string) (asm.Module, [][2]string) {
	var keys [][2]string
	for key := range hostFunctions {
		if slices.Contains(modules, key[0]) {
			keys = append(keys, key)
		}
	}
	before := len(g.Imports)
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for i, key := range keys {
		params, results := wazeroTypes(hostFunctions[key].Type)
		g.Imports = append(g.Imports, asm.Import{Module: key[0], Name: key[1], Params: params, Results: results})
		var code []byte
		for p := range params {
			code = append(code, asm.Get(uint32(p))...)
		}
		g.Funcs = append(g.Funcs, asm.Func{Export: key[0] + "." + key[1], Params: params, Results: results, Code: asm.Cat(code, asm.Call(uint32(before+i)))})
	}
	return g, keys
}

// FuzzHostFunctions calls host functions with any arguments. The guest may fail,
// the host may not.
func FuzzHostFunctions(f *testing.F) {
	guest, keys := everyFunction(asm.Guest(nil), abi.ImportModule, wasi.Module)
	edges := []uint32{0, 1, 8, 65535, 65536, 1 << 31, 1<<32 - 8, 1<<32 - 1}
	for i := range keys {
		for _, e := range edges {
			f.Add(uint(i), uint32(1), e, e, uint32(8), e, uint32(4), e, e)
			f.Add(uint(i), e, uint32(16), uint32(100), e, uint32(16), e, uint32(16), uint32(8))
		}
	}
	m, err := Load(context.Background(), "op.wasm", guest.Encode(), withCache(f, Options{
		Config: map[string]string{"": "value"}, StopGrace: time.Millisecond,
	}))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { m.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, which uint, a, b, c, d, e, g, h, i uint32) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		in, err := m.acquire(context.Background(), m.pool.permits, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer in.unlock()
		defer m.pool.give(in)
		task := in.newTask(&testEnv{})
		defer delete(in.tasks, task.id)
		key := keys[which%uint(len(keys))]
		params, _ := wazeroTypes(hostFunctions[key].Type)
		args := []uint64{uint64(a), uint64(b), uint64(c), uint64(d), uint64(e), uint64(g), uint64(h), uint64(i), 0, 0}
		_, err = in.newCall(ctx, "fuzz", task).Run(key[0]+"."+key[1], args[:len(params)]...)
		if err != nil && !errors.Is(err, ErrExit) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: %v", key, err)
		}
	})
}

// FuzzPluginFunctions does the same with the functions of plugins, whose
// arguments are offsets of 64 bits.
func FuzzPluginFunctions(f *testing.F) {
	guest, keys := everyFunction(pluginModule(asm.I32Const(0)), extism.EnvModule, extism.UserModule)
	edges := []uint64{0, 1, 15, 16, 24, 1 << 20, 1 << 31, 1<<32 - 1, 1 << 63, 1<<64 - 8, 1<<64 - 1}
	for i := range keys {
		for _, e := range edges {
			f.Add(uint(i), e, e, uint64(16))
			f.Add(uint(i), uint64(16), e, e)
			f.Add(uint(i), uint64(0), uint64(16), e)
		}
	}
	m, err := Load(context.Background(), "op.wasm", guest.Encode(), withCache(f, Options{
		Config: map[string]string{"{}": "value"}, StopGrace: time.Millisecond,
	}))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { m.Close(context.Background()) })
	f.Fuzz(func(t *testing.T, which uint, a, b, c uint64) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		in, err := m.acquire(context.Background(), m.pool.permits, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer in.unlock()
		defer m.pool.give(in)
		in.guest.Initializers(func(string) bool { return false }) // a fresh memory
		task := in.newTask(&requestingEnv{})
		defer delete(in.tasks, task.id)
		key := keys[which%uint(len(keys))]
		params, _ := wazeroTypes(hostFunctions[key].Type)
		_, err = in.newCall(ctx, "fuzz", task).Run(key[0]+"."+key[1], []uint64{a, b, c}[:len(params)]...)
		if err != nil && !errors.Is(err, ErrMemory) && !errors.Is(err, ErrMessage) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: %v", key, err)
		}
	})
}

// FuzzDecodeAnswers feeds answers to questions, and results of transformations.
func FuzzDecodeAnswers(f *testing.F) {
	for _, text := range []string{
		`{"answers":[{"value":true}]}`, `{"answers":[{"error":{"kind":"permanent","message":"no"}}]}`, `{"answers":[]}`, `{"answers":null}`,
		`{"body":{"a":1}}`, `{"error":{"kind":"temporary","delay":1}}`, `{"body":null,"error":{}}`, `[]`, ``,
	} {
		f.Add([]byte(text), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, questions int) {
		answers, err := decodeAnswers(data, questions)
		switch {
		case err != nil && !errors.Is(err, ErrMessage):
			t.Errorf("answers: error without its kind: %v", err)
		case err == nil && len(answers.Answers) != questions:
			t.Errorf("%d answers to %d questions", len(answers.Answers), questions)
		}
		result, err := decodeTransform(data)
		switch {
		case err != nil && !errors.Is(err, ErrMessage):
			t.Errorf("transformation: error without its kind: %v", err)
		case err == nil && result.Error == nil && (len(result.Body) == 0 || result.Body[0] != '{'):
			t.Errorf("neither a body nor an error: %s", data)
		}
	})
}
