package wasi

import (
	"time"

	"github.com/kopf-wasm/kopf/host/imports"
)

// Clocks of WASI.
const (
	clockRealtime  = 0
	clockMonotonic = 1
	clockLast      = 3 // process and thread time: equal to the monotonic clock
)

// Clock is the clock of a guest. It stands still while the guest computes. It moves when a
// call begins and when the guest sleeps. All nondeterminism therefore crosses the host
// interface, and a step can be repeated.
type Clock struct {
	now  time.Time
	skew time.Duration // how far the monotonic clock was moved forward

	// Epoch lets the monotonic clock count from 1970, not from the start of the process, so
	// that it is equal in each process.
	Epoch bool
}

// monotonicBase is the zero of the monotonic clocks of all guests.
var monotonicBase = time.Now().Add(-time.Second)

// Set sets the clock.
func (c *Clock) Set(now time.Time) { c.now = now }

// Skip moves only the monotonic clock forward: to the end of a sleep that ended early.
func (c *Clock) Skip(d time.Duration) { c.skew = min(c.skew+min(d, maxSkew), maxSkew) }

// maxSkew prevents an overflow of the monotonic clock: about a hundred years.
const maxSkew = 100 * 365 * 24 * time.Hour

// read returns the time of a clock, in nanoseconds.
func (c *Clock) read(id uint32) int64 {
	if id == clockRealtime {
		return c.now.UnixNano()
	}
	if c.Epoch {
		return c.now.UnixNano() + int64(c.skew)
	}
	return int64(c.now.Sub(monotonicBase) + c.skew)
}

// clockResolution is clock_res_get(id, ptr): a microsecond.
func clockResolution(p Process, stack []uint64) {
	if imports.U32(stack, 0) > clockLast {
		stack[0] = errnoInval
		return
	}
	stack[0] = fault(p.Memory().WriteUint64Le(imports.U32(stack, 1), 1000))
}

// clockTime is clock_time_get(id, precision, ptr).
func clockTime(p Process, stack []uint64) {
	if imports.U32(stack, 0) > clockLast {
		stack[0] = errnoInval
		return
	}
	stack[0] = fault(p.Memory().WriteUint64Le(imports.U32(stack, 2), uint64(p.Clock().read(imports.U32(stack, 0)))))
}
