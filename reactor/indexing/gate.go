package indexing

import (
	"context"
	"errors"
	"sync"
)

// ErrReplaced is of an event that came under handlers which were replaced before their
// indices were complete: it is handled from the start.
var ErrReplaced = errors.New("the handlers have been replaced")

// Gate keeps all handlers waiting until the indices are complete: until all
// objects of all indexed resources that were there at the start have been indexed.
type Gate struct {
	mu     sync.Mutex // guards count
	count  int
	open   chan struct{}
	closed chan struct{} // for ever: another gate has taken its place
	Shut   func()        // closes it so
}

func NewGate() *Gate {
	g := &Gate{open: make(chan struct{}), closed: make(chan struct{})}
	g.Shut = sync.OnceFunc(func() { close(g.closed) })
	return g
}

func (g *Gate) IsOpen() bool {
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

// Add makes the gate wait for one thing more; false if it is open already, as it
// never closes again.
func (g *Gate) Add() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.IsOpen() {
		return false
	}
	g.count++
	return true
}

// Done is the end of one thing. The last one opens the gate.
func (g *Gate) Done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count <= 0 && !g.IsOpen() {
		close(g.open)
	}
}

// Wait waits until the gate is open, or the operator ends. It returns ErrReplaced if
// the gate never opens, as the handlers have been replaced.
func (g *Gate) Wait(ctx context.Context) error {
	if g.IsOpen() {
		return nil
	}
	select {
	case <-g.open:
		return nil
	case <-g.closed:
		return ErrReplaced
	case <-ctx.Done():
		return ctx.Err()
	}
}
