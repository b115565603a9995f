package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/artifacts/modules"
	"github.com/kopf-wasm/kopf/artifacts/oci"
	"github.com/kopf-wasm/kopf/internal/slots"
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

// fetchMemory is the memory that fetches share, in units. The modules of one namespace have at
// most half of it, so that other tenants do not wait for a registry that hangs.
type fetchMemory struct{ units *slots.Pool }

// memoryUnit is the size of a unit, in bytes.
const memoryUnit = 1 << 20

func newFetchMemory(size int64) *fetchMemory {
	return &fetchMemory{slots.New(int(size / memoryUnit))}
}

// take waits for the units of a size. It returns their number, at most half of all units.
func (m *fetchMemory) take(ctx context.Context, owner string, size int64) (units int, err error) {
	return m.units.Take(ctx, owner, int((size+memoryUnit-1)/memoryUnit))
}

func (m *fetchMemory) give(owner string, units int) { m.units.Give(owner, units) }

// reservation is the memory of one module.
type reservation struct {
	memory *fetchMemory
	owner  string // the namespace of the account
	units  int
	freed  sync.Once
}

// fetch fetches a module, and keeps its memory reserved. A transfer that is too slow fails
// with errSlow.
func (r *reservation) fetch(ctx context.Context, finder *modules.Finder, name oci.Reference) (*modules.Found, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finder.Reserve = func(ctx context.Context, size int64) (err error) {
		if r.units, err = r.memory.take(ctx, r.owner, size); err != nil {
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
func (r *reservation) release() { r.freed.Do(func() { r.memory.give(r.owner, r.units) }) }
