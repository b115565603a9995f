package bench

import (
	"fmt"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/indexing"
)

// filled is an environment with an index of so many entries.
type filled struct {
	silent
	indices *indexing.Indices
}

func (f filled) Index(op int, name string, key []byte) ([]byte, error) {
	found, err := f.indices.Look(name, op, key)
	if err != nil {
		return nil, abi.ErrAbsent
	}
	return found, nil
}

// index makes an index with so many entries, the object of create among them.
func index(entries int) filled {
	indices := indexing.New([]string{"names"}, nil)
	for i := range entries {
		name := fmt.Sprintf("obj-%05d", i+1)
		key, value := fmt.Sprintf("%q", name), fmt.Appendf(nil, `"uid-%d"`, i)
		_ = indices.Get("names").Replace(name, indexing.Pairs{key: value}) // without an account, nothing is refused
	}
	return filled{indices: indices}
}

// BenchmarkIndex is a call of a handler that looks into an index, by the size of the
// index: which must not matter, as nothing but what is asked for is copied.
func BenchmarkIndex(b *testing.B) {
	for _, entries := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			m, env, body := load(b, "lookups-go"), index(entries), object(1024)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := createIn(b.Context(), m, body, env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What is measured must be the work, not a failure.
func TestIndex(t *testing.T) {
	step, err := createIn(t.Context(), load(t, "lookups-go"), object(1024), index(1000))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"found":1,"has":false,"keys":1000}`; step.Error != nil || string(step.Result) != want {
		t.Errorf("the result is %s, want %s; the error is %+v", step.Result, want, step.Error)
	}
}
