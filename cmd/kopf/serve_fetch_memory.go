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
// time, in bytes, with the documents about them. Further fetches wait.
const hostedMemory = 4 * maxHosted

// documentMemory is reserved for what is read before a module: its manifest, its config, and its
// signatures, whose sizes a registry chooses. It is given back before the module is fetched.
const documentMemory = 16 << 20

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
	timer  *time.Timer // ends a transfer that is too slow
	freed  sync.Once
}

// fetch fetches a module, and keeps its memory reserved, unless it fails. A transfer that is too slow fails
// with errSlow, that of the documents before the module, too.
func (r *reservation) fetch(ctx context.Context, finder *modules.Finder, name oci.Reference) (found *modules.Found, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		if found == nil || err != nil { // after a panic, too
			r.release()
		}
	}()
	if err := r.reserve(ctx, cancel, documentMemory, "its manifest and its signatures"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	finder.Reserve = func(ctx context.Context, size int64) error {
		r.drop() // a fetch that waits has no memory, so that fetches do not wait for each other
		return r.reserve(ctx, cancel, size, fmt.Sprintf("%d bytes", size))
	}
	found, err = finder.Fetch(ctx, name)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSlow) {
		err = fmt.Errorf("%s: %w", name, cause)
	}
	return found, err
}

// reserve waits for the memory of a transfer, and ends the transfer when it is too slow.
func (r *reservation) reserve(ctx context.Context, cancel context.CancelCauseFunc, size int64, what string) (err error) {
	if r.units, err = r.memory.take(ctx, r.owner, size); err != nil {
		return fmt.Errorf("waiting for memory: %w", err)
	}
	allowed := slowestStart + time.Duration(size)*time.Second/slowestRate
	timer := time.AfterFunc(allowed, func() { cancel(fmt.Errorf("%w: %s took longer than %v", errSlow, what, allowed)) })
	context.AfterFunc(ctx, func() { timer.Stop() })
	r.timer = timer
	return nil
}

// drop gives back what is reserved now.
func (r *reservation) drop() {
	r.timer.Stop()
	r.memory.give(r.owner, r.units)
	r.units = 0
}

// release frees the memory. Further calls do nothing.
func (r *reservation) release() { r.freed.Do(func() { r.memory.give(r.owner, r.units) }) }
