package daemons

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/pauses"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// Runnables are the handlers, daemons and timers that run. Everything that begins
// enters here, and nothing enters once the operator exits.
//
// # Guarantees
//
//   - A daemon or a timer that has entered is in all until it ends, so that the exit
//     stops it and waits for it: adding one is atomic with close.
//   - A handler that has entered runs on a worker of its object, which the exit waits for.
//   - What comes after close is refused with handling.ErrExiting. Those that wait for a place are
//     refused at once.
//
// Sub-handlers do not enter: they belong to the call of their parent. Activities and
// reviews do not either: those of the exit come after close, and the API server waits
// for an answer.
type Runnables struct {
	places chan struct{} // of handlers that run at once; nil: no limit
	closed chan struct{} // closed when the operator exits

	mu      sync.Mutex // guards daemons; makes adding and closing atomic
	daemons map[*daemon]struct{}
	tasks   sync.WaitGroup // daemons and timers, and what stops them
}

func NewRunnables() *Runnables {
	return &Runnables{closed: make(chan struct{}), daemons: map[*daemon]struct{}{}}
}

// Limit bounds how many handlers run at once; 0 does not. It is called before the
// first handler enters.
//
// Kopf: settings.execution.max_workers (v1.45), which counts what runs in threads.
func (r *Runnables) Limit(places int) {
	if places > 0 {
		r.places = make(chan struct{}, places)
	}
}

// Close refuses everything that comes from now on. More calls do nothing.
func (r *Runnables) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.IsClosed() {
		close(r.closed)
	}
}

func (r *Runnables) IsClosed() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

// Enter admits a call of a handler: see handling.Entrance. Daemons and background handlers need no
// place, since they would keep it for ever.
func (r *Runnables) Enter(ctx context.Context, h *registries.Handler, waits func()) (leave func(), err error) {
	leave = func() {}
	if r.places != nil && h.Spec.Kind != abi.KindDaemon && h.Spec.Kind != abi.KindBackground {
		if err := r.seize(ctx, waits); err != nil {
			return nil, err
		}
		leave = func() { <-r.places }
	}
	if r.IsClosed() {
		leave()
		return nil, handling.ErrExiting
	}
	return leave, nil
}

// seize takes a place.
func (r *Runnables) seize(ctx context.Context, waits func()) error {
	select {
	case r.places <- struct{}{}:
		return nil
	default:
	}
	if waits != nil {
		waits()
	}
	select {
	case r.places <- struct{}{}:
		return nil
	case <-r.closed:
		return handling.ErrExiting
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add takes a daemon or a timer in. It returns false if the operator exits.
func (r *Runnables) add(d *daemon) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.IsClosed() {
		return false
	}
	r.daemons[d] = struct{}{}
	r.tasks.Add(1) // Waited for by wait; ended by remove.
	return true
}

// remove is the end of what add has taken in.
func (r *Runnables) remove(d *daemon) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.daemons, d)
	r.tasks.Done()
}

// whileOpen does some work on a goroutine of its own, which the exit waits for. It does
// nothing if the operator exits: the exit stops all daemons anyway.
func (r *Runnables) whileOpen(work func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.IsClosed() {
		r.tasks.Go(work) // Waited for by wait.
	}
}

// all are the daemons and timers that run.
func (r *Runnables) all() []*daemon {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*daemon, 0, len(r.daemons))
	for d := range r.daemons {
		all = append(all, d)
	}
	return all
}

// Count is how many daemons and timers run.
func (r *Runnables) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.daemons)
}

// pauseRecheck is how often a paused operator looks for daemons that were just being
// started when the pause began.
const pauseRecheck = time.Second

// StopInPauses stops all daemons and timers whenever the operator pauses. They are
// started again with the objects that are listed after the pause.
//
// Kopf: kopf._core.engines.daemons.daemon_killer (v1.45).
func (r *Runnables) StopInPauses(ctx context.Context, p *pauses.Pauses) error {
	for p.Wait(ctx, true) == nil {
		for p.IsOn() && ctx.Err() == nil {
			for _, d := range r.all() {
				if d.stopper.Bits()&abi.StopOperatorPausing == 0 {
					r.whileOpen(func() { d.stop(abi.StopOperatorPausing) })
				}
			}
			again, cancel := context.WithTimeout(ctx, pauseRecheck)
			_ = p.Wait(again, false) // or else it is time to look again
			cancel()
		}
	}
	return nil
}

// hungTimeout is how long the exit waits for daemons and timers that do not end: such as
// a timer in its handler, or a daemon without a cancellation timeout.
//
// Kopf: kopf._core.reactor.running.run_tasks (v1.45): hung tasks.
const hungTimeout = 5 * time.Second

// End lets nothing begin any more, and ends all daemons and timers at the exit of
// the operator. Those that do not end in their time are ended by force.
func (r *Runnables) End() {
	r.Close()
	var stopping sync.WaitGroup
	for _, d := range r.all() {
		stopping.Go(func() {
			d.stop(abi.StopOperatorExiting)
			d.waitFor(hungTimeout)
			d.kill()
		})
	}
	stopping.Wait()
	r.tasks.Wait()
}

// Retire stops the daemons and timers of all generations but one, and waits for their end.
func (r *Runnables) Retire(generation uint32) {
	var stopping sync.WaitGroup
	for _, d := range r.all() {
		if d.generation != generation {
			stopping.Go(d.retire)
		}
	}
	stopping.Wait()
}

// retire ends a daemon as at the exit of the operator. A timer that ticks may finish.
func (d *daemon) retire() {
	if d.handler.Spec.Kind == abi.KindTimer {
		d.stopper.Set(abi.StopOperatorExiting)
	} else {
		d.stop(abi.StopOperatorExiting)
		d.kill()
	}
	<-d.done
}
