package backoffs_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

func TestDoubling(t *testing.T) {
	d := backoffs.Doubling{First: time.Second, Most: 5 * time.Second}
	for range 2 { // the second time after Reset
		var pauses []time.Duration
		for range 5 {
			pauses = append(pauses, d.Next())
		}
		if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}; !slices.Equal(pauses, want) {
			t.Errorf("got %v, want %v", pauses, want)
		}
		d.Reset()
	}
	none := backoffs.Doubling{Most: time.Second}
	for range 2 {
		if pause := none.Next(); pause != 0 {
			t.Errorf("without a first pause, there is a pause of %v", pause)
		}
	}
	if short := (backoffs.Doubling{First: time.Minute, Most: time.Second}); short.Next() != time.Second {
		t.Error("the first pause is longer than the longest one")
	}
}
