// Package bench measures what one invocation costs: of the host and of the guest
// together, without Kubernetes. Whole operators are compared by its driver.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host"
)

// guests is the folder where `make guests` builds the guests.
const guests = "../../.cache/guests"

// BenchmarkCreate is one creation of an object of 1 KB: from the frame to the decoded
// outcome, with an instance of the pool.
func BenchmarkCreate(b *testing.B) {
	for _, language := range []string{"go", "rust"} {
		b.Run(language, func(b *testing.B) {
			m := load(b, language)
			body := object(1024)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := create(b.Context(), m, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What is measured must be the work, not a failure.
func TestCreate(t *testing.T) {
	for _, language := range []string{"go", "rust"} {
		t.Run(language, func(t *testing.T) {
			step, err := create(t.Context(), load(t, language), object(1024))
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"status":{"field":"v1"}}`; step.Error != nil || string(step.Patch) != want {
				t.Errorf("the patch is %s, want %s; the error is %+v", step.Patch, want, step.Error)
			}
		})
	}
}

func TestObject(t *testing.T) {
	body := object(1024)
	if len(body) != 1024 || !json.Valid(body) {
		t.Errorf("%d bytes, JSON: %t, want 1024 bytes of JSON", len(body), json.Valid(body))
	}
}

// load loads a guest; without it, because it was not built, the test is skipped.
func load(tb testing.TB, language string) *host.Module {
	tb.Helper()
	file := filepath.Join(guests, "bench-"+language+".wasm")
	wasm, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		tb.Skipf("SKIPPED: there is no %s: `make guests` builds it, or says what is missing", filepath.Base(file))
	}
	if err != nil {
		tb.Fatal(err)
	}
	m, err := host.Load(tb.Context(), filepath.Base(file), wasm, host.Options{CacheDir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil { // that of the test is over
			tb.Error(err)
		}
	})
	return m
}

// create calls the handler of creations once, and forgets its task.
func create(ctx context.Context, m *host.Module, body []byte) (*abi.Step, error) {
	return createIn(ctx, m, body, silent{})
}

// createIn does the same in an environment.
func createIn(ctx context.Context, m *host.Module, body []byte, env host.Env) (*abi.Step, error) {
	inv := &abi.Invocation{
		Kind: abi.KindCreate, ID: "create_fn", Reason: "create", Name: "obj-00001", Namespace: "default",
		UID: "11111111-2222-3333-4444-555555555555", Started: "2020-01-01T00:00:00.000000+00:00",
		Resource: &abi.ResourceInfo{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true},
	}
	task, step, err := m.Start(ctx, inv, body, env)
	if err != nil {
		return nil, err
	}
	task.Release(ctx)
	return step, nil
}

// object is the JSON of an object with exactly so many bytes.
func object(size int) []byte {
	begin := `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"obj-00001","namespace":"default",` +
		`"uid":"11111111-2222-3333-4444-555555555555","resourceVersion":"1","labels":{"app":"bench"}},"spec":{"field":"v1","env":[`
	var body bytes.Buffer
	body.WriteString(begin)
	for i := 0; body.Len() < size-100; i++ {
		fmt.Fprintf(&body, `{"name":"VARIABLE_%03d","value":"value-%04d"},`, i, i)
	}
	last, end := `{"name":"LAST","value":"`, `"}]}}`
	body.WriteString(last + strings.Repeat("x", size-body.Len()-len(last)-len(end)) + end)
	return body.Bytes()
}

// silent is an environment that knows nothing and notes nothing.
type silent struct{}

func (silent) Log(int, string)                                    {}
func (silent) Segment(uint32) []byte                              { return nil }
func (silent) Stopped() int                                       { return 0 }
func (silent) Event(abi.Event) error                              { return abi.ErrDenied }
func (silent) MemoGet(int, string) ([]byte, uint64, bool)         { return nil, 0, false }
func (silent) MemoSet(int, string, []byte, int64) (uint64, error) { return 0, abi.ErrDenied }
func (silent) Index(int, string, []byte) ([]byte, error)          { return nil, abi.ErrAbsent }
