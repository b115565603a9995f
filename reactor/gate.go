package reactor

import (
	"context"
	"errors"
	"sync"
)

// errReplaced is of an event that came under handlers which were replaced before their
// indices were complete: it is handled from the start.
var errReplaced = errors.New("the handlers have been replaced")

// gate keeps all handlers waiting until the indices are complete: until all
// objects of all indexed resources that were there at the start have been indexed.
type gate struct {
	mu     sync.Mutex // guards count
	count  int
	open   chan struct{}
	closed chan struct{} // for ever: another gate has taken its place
	shut   func()        // closes it so
}

func newGate() *gate {
	g := &gate{open: make(chan struct{}), closed: make(chan struct{})}
	g.shut = sync.OnceFunc(func() { close(g.closed) })
	return g
}

func (g *gate) isOpen() bool {
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

// add makes the gate wait for one thing more; false if it is open already, as it
// never closes again.
func (g *gate) add() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen() {
		return false
	}
	g.count++
	return true
}

// done is the end of one thing. The last one opens the gate.
func (g *gate) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count <= 0 && !g.isOpen() {
		close(g.open)
	}
}

// wait waits until the gate is open, or the operator ends. It returns errReplaced if
// the gate never opens, as the handlers have been replaced.
func (g *gate) wait(ctx context.Context) error {
	if g.isOpen() {
		return nil
	}
	select {
	case <-g.open:
		return nil
	case <-g.closed:
		return errReplaced
	case <-ctx.Done():
		return ctx.Err()
	}
}
