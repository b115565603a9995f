// Package pauses records whether an operator works or pauses, and why.
package pauses

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/kopf-wasm/kopf/reactor/dimensions"
	"github.com/kopf-wasm/kopf/reactor/signals"
)

// Pauses records whether the operator works or pauses. There may be several reasons to
// pause: one for each peering object, one if no peering object exists, and one while another
// replica is the leader.
//
// Kopf: kopf._cogs.aiokits.aiotoggles.ToggleSet (v1.45).
type Pauses struct {
	mu      sync.Mutex // guards the fields below
	reasons map[Reason]bool
	changed *signals.Signal // given and replaced when a pause begins or ends

	last    int            // number of the latest cancellation
	cancels map[int]func() // called when a pause begins
}

// Reason is why the operator pauses. The zero value stands for missing peering resources.
type Reason struct {
	Peering dimensions.Key // the peering object whose peers make the operator pause
	Standby bool           // another replica is the leader
}

// New makes a Pauses without any reason to pause.
func New() *Pauses {
	return &Pauses{reasons: map[Reason]bool{}, changed: signals.New(), cancels: map[int]func(){}}
}

// Set adds or removes a reason. It returns false if nothing has changed.
func (p *Pauses) Set(reason Reason, on bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reasons[reason] == on {
		return false
	}
	before := len(p.reasons) > 0
	if on {
		p.reasons[reason] = true
	} else {
		delete(p.reasons, reason)
	}
	if before != (len(p.reasons) > 0) {
		p.changed.Give()
		p.changed = signals.New()
		for _, cancel := range p.cancels {
			if on {
				cancel()
			}
		}
	}
	return true
}

// OnPause calls a function when a pause begins, and at once during a pause, until remove is
// called. It costs no goroutine. The function must not block.
func (p *Pauses) OnPause(cancel func()) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.reasons) > 0 {
		cancel()
	}
	p.last++
	number := p.last
	p.cancels[number] = cancel
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.cancels, number)
	}
}

// IsOn reports whether the operator pauses now.
func (p *Pauses) IsOn() bool {
	on, _ := p.state()
	return on
}

// state reports whether the operator pauses now, and returns the signal that this changes.
func (p *Pauses) state() (on bool, changed *signals.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.reasons) > 0, p.changed
}

// Wait waits until the operator does not pause. It returns only the context's error.
func (p *Pauses) Wait(ctx context.Context) error {
	for ctx.Err() == nil {
		on, changed := p.state()
		if !on {
			return nil
		}
		select {
		case <-changed.Given():
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// Between starts work between the pauses, repeatedly until the context ends. Each pause cancels
// the context of work. Work calls over when it has ended, maybe after it has returned. So neither work that
// waits nor a pause needs a goroutine: Between may return before its end, which it says by ended.
func (p *Pauses) Between(ctx context.Context, work func(ctx context.Context, over func()), ended func()) {
	for ctx.Err() == nil {
		if on, changed := p.state(); on {
			changed.Then(ctx, func() { p.Between(ctx, work, ended) })
			return
		}
		own, cancel := context.WithCancel(ctx)
		remove := p.OnPause(cancel)
		var first atomic.Bool // work has returned, or is over; the second of both continues
		work(own, func() {
			remove()
			cancel()
			if first.Swap(true) {
				p.Between(ctx, work, ended)
			}
		})
		if !first.Swap(true) {
			return
		}
	}
	ended()
}
