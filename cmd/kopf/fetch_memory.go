package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
)

// hostedMemory bounds the modules of hosted operators that are fetched or loaded at the same
// time, in bytes. Further fetches wait.
const hostedMemory = 4 * maxHosted

// A transfer that is slower occupies memory for which others wait, so it is stopped.
const (
	slowestStart = 30 * time.Second
	slowestRate  = 512 << 10 // bytes per second
)

// errSlow says that a registry sends too slowly.
var errSlow = errors.New("the registry sends too slowly")

// fetchMemory is a number of units of memory that fetches share. A fetch takes all of its
// units at once, so fetches that wait hold nothing.
type fetchMemory struct {
	turn chan struct{} // has a token while a fetch takes units: the others wait in line
	used chan struct{} // has a token for each used unit
}

// memoryUnit is the size of a unit, in bytes.
const memoryUnit = 1 << 20

func newFetchMemory(size int64) *fetchMemory {
	return &fetchMemory{turn: make(chan struct{}, 1), used: make(chan struct{}, size/memoryUnit)}
}

// take waits for the units of a size. It returns their number, at most all units.
func (m *fetchMemory) take(ctx context.Context, size int64) (units int, err error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	want := min(int((size+memoryUnit-1)/memoryUnit), cap(m.used))
	for ; units < want; units++ {
		select {
		case m.used <- struct{}{}:
		case <-ctx.Done():
			m.give(units)
			return 0, context.Cause(ctx)
		}
	}
	return units, nil
}

func (m *fetchMemory) give(units int) {
	for range units {
		<-m.used
	}
}

// reservation is the memory of one module.
type reservation struct {
	memory *fetchMemory
	units  int
	freed  sync.Once
}

// fetch fetches a module, and keeps its memory reserved. A transfer that is too slow fails
// with errSlow.
func (r *reservation) fetch(ctx context.Context, finder *modules.Finder, name oci.Reference) (*modules.Found, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finder.Reserve = func(ctx context.Context, size int64) (err error) {
		if r.units, err = r.memory.take(ctx, size); err != nil {
			return fmt.Errorf("waiting for memory: %w", err)
		}
		allowed := slowestStart + time.Duration(size)*time.Second/slowestRate
		timer := time.AfterFunc(allowed, func() { cancel(fmt.Errorf("%w: %d bytes took longer than %v", errSlow, size, allowed)) })
		context.AfterFunc(ctx, func() { timer.Stop() })
		return nil
	}
	found, err := finder.Fetch(ctx, name)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSlow) {
		err = fmt.Errorf("%s: %w", name, cause)
	}
	return found, err
}

// release frees the memory. Further calls do nothing.
func (r *reservation) release() { r.freed.Do(func() { r.memory.give(r.units) }) }
