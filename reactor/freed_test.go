package reactor

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/reactor/indexing"
	"github.com/kopf-wasm/kopf/reactor/memos"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// TestOperatorsAreFreed: nothing refers to an operator that has ended, whatever it keeps in its account. The memory of the account is
// given back when nothing refers to its owner, and an operator that the account refers to would refer to all of them, for ever.
func TestOperatorsAreFreed(t *testing.T) {
	registry, err := registries.New()
	if err != nil {
		t.Fatal(err)
	}
	op, err := New(Options{Registry: registry, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	op.memories.Base = memos.New(nil, op.account)
	indices := indexing.New([]string{"fn"}, op.account)
	if err := indices.Get("fn").Replace("uid", indexing.Pairs{"key": []byte("1")}); err != nil {
		t.Fatal(err)
	}
	op.generations.Present().Services.Indices = indices
	index, account, owner := weak.Make(indices), op.account, weak.Make(op)
	op, indices = nil, nil
	for range 100 {
		runtime.GC()
		if owner.Value() == nil && index.Value() == nil && account.Usage()[accounts.Indices].Used == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the operator %v or its index %v is never freed: %+v", owner.Value() != nil, index.Value() != nil, account.Usage())
}
