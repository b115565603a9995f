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
	op, index, account := ended(t)
	for range 100 {
		runtime.GC()
		if op.Value() == nil && index.Value() == nil && account.Usage()[accounts.Indices].Used == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the operator (%v) or its index (%v) is never freed: %+v", op.Value() != nil, index.Value() != nil, account.Usage())
}

// ended makes an operator with an index, and forgets it.
func ended(t *testing.T) (weak.Pointer[Operator], weak.Pointer[indexing.Indices], *accounts.Account) {
	t.Helper()
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
	op.generations.Present().Services.Indices = indices
	if err := indices.Get("fn").Replace("uid", indexing.Pairs{"key": []byte("1")}); err != nil {
		t.Fatal(err)
	}
	return weak.Make(op), weak.Make(indices), op.account
}
