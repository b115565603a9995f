package host

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// Addresses of the test guest: of its request and of its buffer.
const (
	requestAt = 8192
	bufferAt  = 16384
)

// requesting is a guest that makes a request inside of a call and logs the answer.
func requesting(request string) asm.Module {
	const fnCall, fnSegment, fnLog = 0, 1, 2
	of := func(name string, params int, results ...byte) asm.Import {
		return asm.Import{Module: abi.ImportModule, Name: name, Params: []byte(strings.Repeat(string(asm.I32), params)), Results: results}
	}
	task := asm.Get(0)
	g := asm.Guest(asm.Cat(
		task, asm.I32Const(requestAt), asm.I32Const(int32(len(request))), asm.Call(fnCall), asm.Drop,
		task, asm.I32Const(20), asm.I32Const(bufferAt),
		task, asm.I32Const(abi.TagAnswer), asm.I32Const(bufferAt), asm.I32Const(4096), asm.Call(fnSegment), []byte{0xa7}, // i32.wrap_i64
		asm.Call(fnLog)))
	g.Imports = []asm.Import{of(abi.ImportCall, 3, asm.I64), of(abi.ImportSegment, 4, asm.I64), of(abi.ImportLog, 4)}
	g.Data = append(g.Data, asm.Data{Offset: requestAt, Bytes: request})
	return g
}

// TestRequestsInsideOfACall shows that a guest without steps gets the response, and that the
// Env learns that it waits.
func TestRequestsInsideOfACall(t *testing.T) {
	t.Parallel()
	m, err := load(t, requesting(`{"target":"kubernetes","method":"GET","path":"/api/v1/pods"}`).Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := newWaitingEnv()
	if got := result(t, m, "x", env); got != "1" {
		t.Errorf("result %s", got)
	}
	if len(env.calls) != 1 || env.calls[0].Path != "/api/v1/pods" || len(env.waited) != 1 {
		t.Errorf("%d waits, requests %+v", len(env.waited), env.calls)
	}
	if want := `20 {"response":{"status":201,"headers":{"X-A":["1"]},"body":"text"}}`; strings.Join(env.logs, "\n") != want {
		t.Errorf("log %q", env.logs)
	}
	quiet := &testEnv{} // it makes no requests
	_ = result(t, m, "x", quiet)
	if len(quiet.logs) != 1 || !strings.Contains(quiet.logs[0], `"type":"NotReady"`) {
		t.Errorf("log %q", quiet.logs)
	}
}

// endlessEnv answers no request before its end.
type endlessEnv struct {
	testEnv
	began chan struct{}
}

func (e *endlessEnv) Call(ctx context.Context, _ *abi.Call) abi.Answer {
	close(e.began)
	<-ctx.Done()
	return abi.Answer{Error: &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallCancelled}}
}

// TestRequestEndsWithItsCall shows that the end of the context ends the request, and that the
// guest gets an error about it.
func TestRequestEndsWithItsCall(t *testing.T) {
	t.Parallel()
	m, err := load(t, requesting(`{"target":"http","method":"GET","path":"https://x"}`).Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	env := &endlessEnv{began: make(chan struct{})}
	go func() { // Ends with the test.
		<-env.began
		cancel()
	}()
	task, _, err := m.Start(ctx, invoke("x"), nil, env)
	if err != nil {
		t.Fatal(err)
	}
	task.Release(context.WithoutCancel(ctx))
	if len(env.logs) != 1 || !strings.Contains(env.logs[0], `"type":"Cancelled"`) {
		t.Errorf("log %q", env.logs)
	}
}
