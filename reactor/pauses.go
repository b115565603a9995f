package reactor

import (
	"context"
	"sync"
)

// pauses tells whether the operator works or pauses. There may be several reasons
// to pause: one for each peering object, and one for their absence.
//
// Kopf: kopf._cogs.aiokits.aiotoggles.ToggleSet (v1.45).
type pauses struct {
	mu      sync.Mutex // guards all below
	reasons map[pauseReason]bool
	changed chan struct{} // closed and replaced when a pause begins or ends
}

// pauseReason is the peering object whose peers make the operator pause; the zero
// value is the absence of all peering resources.
type pauseReason dimensionKey

func newPauses() *pauses {
	return &pauses{reasons: map[pauseReason]bool{}, changed: make(chan struct{})}
}

// set adds or drops a reason; it returns false if nothing has changed for it.
func (p *pauses) set(reason pauseReason, on bool) bool {
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
		close(p.changed)
		p.changed = make(chan struct{})
	}
	return true
}

// isOn tells whether the operator pauses now.
func (p *pauses) isOn() bool {
	on, _ := p.state()
	return on
}

func (p *pauses) state() (on bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.reasons) > 0, p.changed
}

// wait waits until the operator pauses, or works, as is asked for. It returns only
// the context's error.
func (p *pauses) wait(ctx context.Context, pausing bool) error {
	for ctx.Err() == nil {
		on, changed := p.state()
		if on == pausing {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// between does some work between the pauses, again and again until the context
// ends. The context of the work ends with each pause.
func (p *pauses) between(ctx context.Context, work func(ctx context.Context)) {
	for p.wait(ctx, false) == nil {
		own, cancel := context.WithCancel(ctx)
		var pausing sync.WaitGroup
		pausing.Go(func() {
			_ = p.wait(own, true) // either way, it is over
			cancel()
		})
		work(own)
		cancel()
		pausing.Wait()
	}
}
