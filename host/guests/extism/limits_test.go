package extism

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/functions"
	"github.com/kopf-wasm/kopf/host/guests"
	"github.com/kopf-wasm/kopf/internal/bounded/boundedtest"
)

// stop returns the cause with which a function ends its call.
func stop(do func()) (cause error) {
	defer func() {
		if s, ok := recover().(*guests.Stopped); ok {
			cause = s.Err
		}
	}()
	do()
	return nil
}

// TestNegativeLimitsMeanNone shows that a plugin can set no variable and get no body of a
// response where the limit is negative.
func TestNegativeLimitsMeanNone(t *testing.T) {
	p := New(Limits{Message: 1 << 10, Variables: -1, Response: -1}).(*plugin)
	for name, want := range map[string]error{"var_set": errNoVars, "http_request": guests.ErrMemory} {
		p.kernel.reset([]byte(`{"url":"http://a"}`))
		cause := stop(func() { EnvFunctions[name].Do(caller{p}, []uint64{kernelStart, 0}) })
		if !errors.Is(cause, want) {
			t.Errorf("%s: %v, want %v", name, cause, want)
		}
	}
}

// TestHeadersOfRequestsAreBounded: millions of headers would take fifty times the memory of their text, and that of the host.
func TestHeadersOfRequestsAreBounded(t *testing.T) {
	text := []byte(`{"url":"http://a","headers":{"a":"b"`)
	for i := range 1_000_000 {
		text = fmt.Appendf(text, `,"%x":""`, i)
	}
	text = append(text, "}}"...)
	for name, do := range map[string]func(p *plugin){
		"http_request": func(p *plugin) { EnvFunctions["http_request"].Do(caller{p}, []uint64{kernelStart, 0}) },
		"kopf_call":    func(p *plugin) { UserFunctions["kopf_call"].Do(caller{p}, []uint64{kernelStart}) },
	} {
		boundedtest.Parse(t, name, text, func(text []byte) error {
			p := New(Limits{Message: 8 << 20, Response: 4 << 20}).(*plugin)
			p.kernel.reset(text)
			return stop(func() { do(p) })
		})
	}
}

// TestRequestsOfPluginsAreBounded: as those of other guests.
func TestRequestsOfPluginsAreBounded(t *testing.T) {
	p := New(Limits{Message: 8 << 20, Response: 4 << 20}).(*plugin)
	p.kernel.reset(fmt.Appendf(nil, `{"target":"http","method":"GET","path":"http://a","body":"%s"}`, strings.Repeat("x", functions.MaxCall)))
	s := []uint64{kernelStart}
	UserFunctions["kopf_call"].Do(caller{p}, s)
	if answer := string(p.kernel.at(s[0])); !strings.Contains(answer, abi.CallTooLarge) {
		t.Errorf("%.200s", answer)
	}
}

// room is a bound of memory.
type room struct{ used, limit int }

func (r *room) Take(bytes int) error {
	if r.used+bytes > r.limit {
		return errTogether
	}
	r.used += bytes
	return nil
}

func (r *room) Give(bytes int) { r.used -= bytes }

// TestVariablesCountUntilTheInstanceEnds: an instance keeps them between its calls.
func TestVariablesCountUntilTheInstanceEnds(t *testing.T) {
	r := &room{limit: 1000 + variableCost}
	p := New(Limits{Message: 1 << 20, Variables: 1 << 20, Memory: r}).(*plugin)
	for _, tt := range []struct {
		size, used int
		set        bool
	}{{900, 901, true}, {1000, 901, false}, {100, 101, true}, {0, 0, true}, {10, 11, true}} {
		p.kernel.reset(nil)
		if set := p.kernel.vars.set("a", make([]byte, tt.size), tt.size > 0); set != tt.set || r.used != tt.used+variableCost {
			t.Errorf("%d bytes: %t, %d bytes are used", tt.size, set, r.used)
		}
		p.kernel.forget()
	}
	if p.kernel.reset(make([]byte, 100<<10)) {
		t.Error("there is room for an input of 100 KiB")
	}
	for range 2 { // a module that is closed closes all instances
		if p.Free(); r.used != 0 {
			t.Errorf("%d bytes are used at the end", r.used)
		}
	}
}

// TestSmallVariablesCount: they take many times as much memory of the host as they store, also after they were deleted.
func TestSmallVariablesCount(t *testing.T) {
	const count = 100_000
	r := &room{limit: 100 << 20}
	p := New(Limits{Message: 1 << 20, Variables: 1 << 20, Memory: r}).(*plugin)
	heap := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc) //nolint:gosec // less than the memory of the machine
	}
	before := heap()
	for i := range count {
		if !p.kernel.vars.set(strconv.FormatInt(int64(i), 36), []byte("x"), true) {
			t.Fatalf("variable %d is refused", i)
		}
	}
	if taken := heap() - before; int64(r.used) < taken {
		t.Errorf("%d bytes count, and %d are taken", r.used, taken)
	}
	for i := range count {
		p.kernel.vars.set(strconv.FormatInt(int64(i), 36), nil, false)
	}
	if taken := heap() - before; int64(r.used) < taken {
		t.Errorf("after they were deleted, %d bytes count, and %d are taken", r.used, taken)
	}
	if p.Free(); r.used != 0 {
		t.Errorf("%d bytes are used at the end", r.used)
	}
}

// TestBlocksCount: small blocks take more memory of the host than what is in them.
func TestBlocksCount(t *testing.T) {
	const blocks = 10_000
	r := &room{limit: 100 << 20}
	k := &New(Limits{Message: 1 << 20, Memory: r}).(*plugin).kernel
	k.reset(nil)
	first := k.alloc(blocks * kernelAlign)
	k.alloc(1) // the room before it stays when it is freed
	k.free(first)
	before := r.used
	for range blocks { // the arena does not grow
		k.alloc(1)
	}
	if more := r.used - before; more < (blocks-10)*blockCost {
		t.Errorf("%d blocks count as %d bytes", blocks, more)
	}
	r.limit = r.used + 100*blockCost
	if cause := stop(func() {
		for range blocks {
			k.alloc(1)
		}
	}); !errors.Is(cause, errTogether) {
		t.Errorf("beyond the limit: %v", cause)
	}
	if k.forget(); r.used != 0 {
		t.Errorf("%d bytes count after the call", r.used)
	}
}

// TestErrorsOfPluginsAreBounded: the text of an error is a block, which can be larger than a message, and becomes one with escapes.
func TestErrorsOfPluginsAreBounded(t *testing.T) {
	k := &New(Limits{Message: 1 << 20}).(*plugin).kernel
	k.reset(make([]byte, 1<<20))
	k.problem = block{kernelStart, 1 << 20}
	if text := k.failure(1); len(text) != maxProblem {
		t.Errorf("a text of %d bytes", len(text))
	}
}
