package reactor

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

// runnables are the handlers, daemons and timers that run. Everything that begins
// enters here, and nothing enters once the operator exits.
//
// # Guarantees
//
//   - A daemon or a timer that has entered is in all until it ends, so that the exit
//     stops it and waits for it: adding one is atomic with close.
//   - A handler that has entered runs on a worker of its object, which the exit waits for.
//   - What comes after close is refused with errExiting. Those that wait for a place are
//     refused at once.
//
// Sub-handlers do not enter: they belong to the call of their parent. Activities and
// reviews do not either: those of the exit come after close, and the API server waits
// for an answer.
type runnables struct {
	places chan struct{} // of handlers that run at once; nil: no limit
	closed chan struct{} // closed when the operator exits

	mu      sync.Mutex // guards daemons; makes adding and closing atomic
	daemons map[*daemon]struct{}
	tasks   sync.WaitGroup // daemons and timers, and what stops them
}

func newRunnables() *runnables {
	return &runnables{closed: make(chan struct{}), daemons: map[*daemon]struct{}{}}
}

// limit bounds how many handlers run at once; 0 does not. It is called before the
// first handler enters.
//
// Kopf: settings.execution.max_workers (v1.45), which counts what runs in threads.
func (r *runnables) limit(places int) {
	if places > 0 {
		r.places = make(chan struct{}, places)
	}
}

// close refuses everything that comes from now on. More calls do nothing.
func (r *runnables) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isClosed() {
		close(r.closed)
	}
}

func (r *runnables) isClosed() bool {
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

// enter admits a call of a handler: see entrance. Daemons and background handlers need no
// place, since they would keep it for ever.
func (r *runnables) enter(ctx context.Context, h *Handler, waits func()) (leave func(), err error) {
	leave = func() {}
	if r.places != nil && h.Spec.Kind != abi.KindDaemon && h.Spec.Kind != abi.KindBackground {
		if err := r.seize(ctx, waits); err != nil {
			return nil, err
		}
		leave = func() { <-r.places }
	}
	if r.isClosed() {
		leave()
		return nil, errExiting
	}
	return leave, nil
}

// seize takes a place.
func (r *runnables) seize(ctx context.Context, waits func()) error {
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
		return errExiting
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add takes a daemon or a timer in. It returns false if the operator exits.
func (r *runnables) add(d *daemon) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isClosed() {
		return false
	}
	r.daemons[d] = struct{}{}
	r.tasks.Add(1) // Waited for by wait; ended by remove.
	return true
}

// remove is the end of what add has taken in.
func (r *runnables) remove(d *daemon) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.daemons, d)
	r.tasks.Done()
}

// whileOpen does some work on a goroutine of its own, which the exit waits for. It does
// nothing if the operator exits: the exit stops all daemons anyway.
func (r *runnables) whileOpen(work func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isClosed() {
		r.tasks.Go(work) // Waited for by wait.
	}
}

// all are the daemons and timers that run.
func (r *runnables) all() []*daemon {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*daemon, 0, len(r.daemons))
	for d := range r.daemons {
		all = append(all, d)
	}
	return all
}

// count is how many daemons and timers run.
func (r *runnables) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.daemons)
}

// pauseRecheck is how often a paused operator looks for daemons that were just being
// started when the pause began.
const pauseRecheck = time.Second

// stopInPauses stops all daemons and timers whenever the operator pauses. They are
// started again with the objects that are listed after the pause.
//
// Kopf: kopf._core.engines.daemons.daemon_killer (v1.45).
func (r *runnables) stopInPauses(ctx context.Context, p *pauses) error {
	for p.wait(ctx, true) == nil {
		for p.isOn() && ctx.Err() == nil {
			for _, d := range r.all() {
				if d.stopper.bits()&abi.StopOperatorPausing == 0 {
					r.whileOpen(func() { d.stop(abi.StopOperatorPausing) })
				}
			}
			again, cancel := context.WithTimeout(ctx, pauseRecheck)
			_ = p.wait(again, false) // or else it is time to look again
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

// end lets nothing begin any more, and ends all daemons and timers at the exit of
// the operator. Those that do not end in their time are ended by force.
func (r *runnables) end() {
	r.close()
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
