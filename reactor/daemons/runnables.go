package daemons

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/handling"
	"github.com/kopf-wasm/kopf/reactor/registries"
)

// Runnables holds all running handlers, daemons and timers. Each of them enters before it
// begins. After the exit of the operator has begun, none can enter.
//
// # Guarantees
//
//   - A daemon or a timer that has entered is in all until it ends, so that the exit
//     stops it and waits for it: add and Close exclude each other.
//   - A handler that has entered runs on a worker of its object, which the exit waits for.
//   - After Close, Enter returns handling.ErrExiting. Callers that wait for a place get it at
//     once.
//
// Sub-handlers do not enter: they belong to the call of their parent. Activities and
// reviews do not enter either: activities of the exit run after Close, and the API server
// waits for the answer to a review.
type Runnables struct {
	places chan struct{} // places of concurrent handlers; nil: no limit
	closed chan struct{} // closed when the operator exits

	mu      sync.Mutex       // guards daemons; serialises add and Close
	daemons map[*daemon]bool // whether a pause has stopped it
	tasks   sync.WaitGroup   // daemons and timers, and the work that stops them
}

// NewRunnables makes a Runnables without a limit of handlers.
func NewRunnables() *Runnables {
	return &Runnables{closed: make(chan struct{}), daemons: map[*daemon]bool{}}
}

// Limit sets how many handlers may run concurrently; 0 means no limit. It must be called
// before the first handler enters.
//
// Kopf: settings.execution.max_workers (v1.45), which limits what runs in threads.
func (r *Runnables) Limit(places int) {
	if places > 0 {
		r.places = make(chan struct{}, places)
	}
}

// Close refuses all later entries. Further calls do nothing.
func (r *Runnables) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.IsClosed() {
		close(r.closed)
	}
}

// IsClosed reports whether Close was called.
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

// Enter admits a call of a handler: see handling.Entrance. Daemons and background handlers
// take no place, because they would hold it for ever.
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

// Continue implements handling.Entrance: a handler that has entered may end, also during the exit.
func (r *Runnables) Continue() error { return nil }

// seize takes a place, and waits for one if necessary.
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

// add adds a daemon or a timer. It returns false if the operator exits.
func (r *Runnables) add(d *daemon) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.IsClosed() {
		return false
	}
	r.daemons[d] = false
	d.living(1)
	r.tasks.Add(1) // wait waits for it; remove ends it.
	return true
}

// remove removes a daemon or a timer that add has added.
func (r *Runnables) remove(d *daemon) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.daemons, d)
	d.living(-1)
	r.tasks.Done()
}

// whileOpen runs work on a new goroutine, which the exit waits for. It does nothing if the
// operator exits, because the exit stops all daemons.
func (r *Runnables) whileOpen(work func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.IsClosed() {
		r.tasks.Go(work) // wait waits for it.
	}
}

// all returns the running daemons and timers.
func (r *Runnables) all() []*daemon {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.daemons))
}

// Count returns how many daemons and timers run.
func (r *Runnables) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.daemons)
}

// Pause stops all daemons and timers when the operator pauses. The listing after the pause starts them again. It returns at once.
//
// Kopf: kopf._core.engines.daemons.daemon_killer (v1.45).
func (r *Runnables) Pause() {
	for _, d := range r.all() {
		r.pause(d)
	}
}

// pause stops one of them, once.
func (r *Runnables) pause(d *daemon) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if paused, runs := r.daemons[d]; runs && !paused && !r.IsClosed() { // the exit stops all daemons
		r.daemons[d] = true
		r.tasks.Go(func() { d.stop(abi.StopOperatorPausing) }) // wait waits for it.
	}
}

// Kill ends all daemons and timers by force.
func (r *Runnables) Kill() {
	for _, d := range r.all() {
		d.kill()
	}
}

// hungTimeout is how long the exit waits for daemons and timers that do not end, such as a
// timer in its handler, or a daemon without a cancellation timeout.
//
// Kopf: kopf._core.reactor.running.run_tasks (v1.45): hung tasks.
const hungTimeout = 5 * time.Second

// End closes the Runnables and stops all daemons and timers at the exit of the operator.
// It ends those by force that do not end in time.
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

// Retire stops the daemons and timers of all generations except the given one, and waits
// for their end.
func (r *Runnables) Retire(generation uint32) {
	retire(slices.DeleteFunc(r.all(), func(d *daemon) bool { return d.generation == generation }))
}

// Retire stops the daemons and timers of one object as the exit of the operator does, and waits for their end.
func (m *Memory) Retire() { retire(m.all()) }

// retire stops daemons and timers, and waits for their end.
func retire(daemons []*daemon) {
	var stopping sync.WaitGroup
	for _, d := range daemons {
		stopping.Go(d.retire)
	}
	stopping.Wait()
}

// retire stops a daemon as the exit of the operator does. A timer that is in its handler
// may finish.
func (d *daemon) retire() {
	if d.handler.Spec.Kind == abi.KindTimer {
		d.stopper.Set(abi.StopOperatorExiting)
	} else {
		d.stop(abi.StopOperatorExiting)
		d.kill()
	}
	<-d.done
}
