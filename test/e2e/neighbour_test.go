package e2e_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// neighbour are objects of the same operator that behave well, one after the other.
type neighbour struct {
	mu    sync.Mutex // guards times
	times []time.Duration
}

// neighbour creates objects next to those of a test until stop, and measures how long it
// takes until each is handled.
func (s space) neighbour(t *testing.T) (n *neighbour, stop func()) {
	t.Helper()
	n = &neighbour{}
	enough, done := make(chan struct{}), make(chan struct{})
	go func() { // waited for by stop
		defer close(done)
		for i := 0; ; i++ {
			began, name := time.Now(), fmt.Sprintf("neighbour-%d", i)
			s.create(t, name, "{}")
			s.handled(t, name)
			n.mu.Lock()
			n.times = append(n.times, time.Since(began))
			n.mu.Unlock()
			select {
			case <-enough:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return n, func() {
		close(enough)
		<-done
		t.Log("all the time,", n.since(0))
	}
}

// count is how many objects were handled by now.
func (n *neighbour) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.times)
}

// since describes the objects after the first ones.
func (n *neighbour) since(first int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	sorted := slices.Sorted(slices.Values(n.times[first:]))
	if len(sorted) == 0 {
		return "no object of the neighbour was handled"
	}
	return fmt.Sprintf("%d objects of the neighbour were handled: median %v, longest %v", len(sorted), sorted[len(sorted)/2], sorted[len(sorted)-1])
}
