package host

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/host/internal/asm"
)

// loadSmall loads a well-behaved module, the neighbour of hostile ones.
func loadSmall(t *testing.T) *Module {
	t.Helper()
	m, err := load(t, asm.Guest(nil).Encode(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// enoughRounds are so many that none of what they consist of is blocked.
const enoughRounds = 5

// rounds are the times that calls of a neighbour took.
type rounds []time.Duration

// String is how many there were, with the median and the longest.
func (r rounds) String() string {
	if len(r) == 0 {
		return "no call of the neighbour"
	}
	sorted := slices.Sorted(slices.Values(r))
	return fmt.Sprintf("%d calls of the neighbour: median %v, longest %v", len(r), sorted[len(r)/2], sorted[len(r)-1])
}

// withNeighbour runs something hostile, and repeats it if it ends soon. Meanwhile the rest of the process must make progress: a
// garbage collection, a timer, and a call of a neighbour. It prints how long the calls took.
func withNeighbour(t *testing.T, neighbour *Module, do func()) {
	t.Helper()
	const soon = time.Second
	enough, done := make(chan struct{}), make(chan struct{})
	go func() { // waited for below; it ends early if do fails the test
		defer close(done)
		for {
			began := time.Now()
			do()
			select {
			case <-enough:
				return
			default:
				if time.Since(began) > soon {
					return
				}
			}
		}
	}()
	var meanwhile rounds
	for {
		took := round(t, neighbour)
		select {
		case <-done:
			if !t.Failed() && len(meanwhile) < enoughRounds {
				t.Errorf("meanwhile, there were only %v", meanwhile)
			}
			t.Log(meanwhile)
			return
		default:
			if meanwhile = append(meanwhile, took); len(meanwhile) == enoughRounds {
				close(enough)
			}
		}
	}
}

// round waits for a garbage collection, a timer, and a call of the neighbour, which is
// what the time is of.
func round(t *testing.T, neighbour *Module) time.Duration {
	t.Helper()
	runtime.GC()
	time.Sleep(time.Millisecond)
	began := time.Now()
	task, _, err := neighbour.Start(t.Context(), &abi.Invocation{Kind: abi.KindCreate, ID: "fn"}, nil, &testEnv{})
	if err != nil {
		t.Errorf("the neighbour: %v", err)
		return 0
	}
	task.Release(t.Context())
	return time.Since(began)
}
