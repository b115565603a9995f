package accounts_test

import (
	"runtime"
	"testing"

	"github.com/kopf-wasm/kopf/internal/accounts"
	"github.com/kopf-wasm/kopf/internal/heaptest"
)

// TestTable: a map that was filled and emptied takes no memory, keeps its entries, and is rarely copied.
func TestTable(t *testing.T) {
	const entries = 100_000
	var table accounts.Table
	m := map[int]int{}
	for i := range entries {
		m[i] = i
		m = accounts.Fit(&table, m)
	}
	full := heaptest.InUse()
	for i := range entries - 10 {
		delete(m, i)
		m = accounts.Fit(&table, m)
	}
	if now := heaptest.InUse(); len(m) != 10 || m[entries-1] != entries-1 || full-now < 1<<20 {
		t.Errorf("%d entries, and %d bytes of %d are free", len(m), full-now, full)
	}
	runtime.KeepAlive(m)
}
