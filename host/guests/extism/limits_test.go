package extism

import (
	"errors"
	"testing"

	"github.com/kopf-wasm/kopf/host/guests"
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
