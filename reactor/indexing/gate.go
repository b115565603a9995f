package indexing

import (
	"context"
	"errors"
	"sync"
)

// ErrReplaced means that the handlers of an event were replaced before their indices were
// complete. The event must be handled from the start.
var ErrReplaced = errors.New("the handlers have been replaced")

// Gate makes all handlers wait until the indices are complete: until all initially listed
// objects of all indexed resources have been indexed.
type Gate struct {
	mu     sync.Mutex // guards count
	count  int
	open   chan struct{}
	closed chan struct{} // closed when another gate has replaced this one, which then never opens
	Shut   func()        // closes closed
}

// NewGate makes a gate that waits for nothing yet.
func NewGate() *Gate {
	g := &Gate{open: make(chan struct{}), closed: make(chan struct{})}
	g.Shut = sync.OnceFunc(func() { close(g.closed) })
	return g
}

// IsOpen reports whether the gate is open.
func (g *Gate) IsOpen() bool {
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}

// Add makes the gate wait for one thing more. It returns false if the gate is open,
// because an open gate never closes.
func (g *Gate) Add() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.IsOpen() {
		return false
	}
	g.count++
	return true
}

// Done marks one thing as complete. The last one opens the gate.
func (g *Gate) Done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count <= 0 && !g.IsOpen() {
		close(g.open)
	}
}

// Wait waits until the gate is open, or until the context ends. It returns ErrReplaced if
// the gate never opens because the handlers have been replaced.
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
