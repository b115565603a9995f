package watching

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// Run lists and watches until the context ends, and reconnects after failures. It returns
// only the context's error.
func (s *Stream) Run(ctx context.Context, sink Sink) error {
	over := make(chan struct{})
	s.Start(ctx, sink, func() { close(over) })
	<-over
	return ctx.Err()
}

// Start is Run for streams that need no goroutine while they wait for lines that are Idle: it
// returns when the stream begins to wait so, or when the run has ended. It calls ended at the
// end, maybe on another goroutine.
func (s *Stream) Start(ctx context.Context, sink Sink, ended func()) {
	if s.known.isNil() {
		s.known = newKnown(s.Keeping)
	}
	s.attend()
	(&run{Stream: s, ctx: ctx, sink: sink, ended: ended, failures: backoffs.Doubling{First: minBackoff, Most: maxBackoff}}).work()
}

// run is what one run of a stream keeps while it has no goroutine.
type run struct {
	*Stream
	ctx      context.Context // of the run
	sink     Sink
	ended    func()
	failures backoffs.Doubling

	// The attempt is a listing and the watches that follow it.
	began   time.Time // when the attempt began; zero: between two attempts
	version string    // from which the next watch continues
	check   bool      // whether the version is from a watch that has ended
	pauses  backoffs.Doubling

	watch  *watch    // nil: none is open
	opened time.Time // when the last watch was requested
	events uint64    // how many events there were before it
}

// work continues the run until it ends, or until it waits for lines that wake it.
//
// What waits here for most of the time has small frames, and calls the others before: see
// RATIONALE.md, "Why do waiting goroutines have small frames?".
func (r *run) work() {
	for r.watch != nil || r.ctx.Err() == nil {
		switch {
		case r.watch != nil:
			waits, err := r.watch.follow(r.sink, r.wake)
			if waits {
				return // and r belongs to the goroutine of wake
			}
			r.closed(err)
		case r.began.IsZero():
			r.begin()
		case r.isOutdated():
			r.over(nil)
		default:
			r.open()
		}
	}
	r.health.leave()
	r.ended()
}

// wake continues a run that waits.
func (r *run) wake() { go r.work() } // ended is called at its end

// begin begins an attempt: it passes on all existing objects.
func (r *run) begin() {
	var err error
	r.began, r.fruitful, r.pauses = time.Now(), false, backoffs.Doubling{Most: maxBackoff}
	r.version, err = r.Stream.begin(r.ctx, r.sink)
	r.check = r.streams() // the version is from a watch that has ended
	if err != nil {
		r.over(err)
	}
}

// open opens the next watch of the attempt.
func (r *run) open() {
	var err error
	r.opened, r.events = time.Now(), r.health.events()
	if r.watch, err = r.Stream.open(r.ctx, r.version, r.check); r.watch == nil {
		r.closed(err)
	}
}

// closed notes the end of a watch, or of an attempt to open one, and rests before the next one.
func (r *run) closed(err error) {
	if r.watch != nil {
		r.version = r.watch.version
		r.watch.close()
	}
	r.watch, r.check = nil, true
	pause := time.Duration(0)
	if r.health.events() > r.events || time.Since(r.opened) > brief {
		r.fruitful = true
		r.pauses.Reset()
	} else { // callers close what they have just opened
		r.pauses.First = r.Options().ReconnectBackoff
		pause = r.pauses.Next()
	}
	if err != nil {
		r.over(err)
	} else {
		r.rest(pause)
	}
}

// over ends the attempt, and rests before the next one.
func (r *run) over(err error) {
	normal := err == nil || errors.Is(err, ErrExpired) && r.fruitful // without an event in between, each listed version expires at once: a failure
	if normal || time.Since(r.began) > maxBackoff {
		r.failures.Reset()
	}
	backoff := time.Duration(0)
	if !normal && r.ctx.Err() == nil {
		r.failed(err)
		backoff = r.failures.Next()
	}
	r.began = time.Time{}
	r.rest(backoff)
}

// rest waits between two requests, at least for the ReconnectBackoff.
func (r *run) rest(d time.Duration) {
	d = max(d, r.Options().ReconnectBackoff)
	r.health.enter(Resting, d)
	_ = backoffs.Pause(r.ctx, d) // work checks the context
}

func (s *Stream) failed(err error) {
	s.health.failed(err)
	s.Log(abi.LevelWarning, fmt.Sprintf("The watch-stream of %s has failed, and will be restarted: %v", s.Path, err))
}

// watch is an open watch.
type watch struct {
	*Stream
	ctx     context.Context
	cancel  func()
	alive   *watchdog
	lines   Lines
	version string // from which the next watch continues
}

// open opens a watch that continues from a version. It returns neither a watch nor an error if the
// watch has ended before its first line. With check, it verifies that the server was not
// replaced since the version was received.
func (s *Stream) open(ctx context.Context, version string, check bool) (*watch, error) {
	options := s.Options()
	s.health.enter(Watching, options.InactivityTimeout)
	w := &watch{Stream: s, version: version}
	w.ctx, w.cancel = context.WithCancel(ctx)
	s.watches(w.cancel)
	if options.ClientTimeout > 0 {
		first := w.cancel
		var last context.CancelFunc
		w.ctx, last = context.WithTimeout(w.ctx, options.ClientTimeout)
		w.cancel = func() { last(); first() }
	}
	w.alive = s.watchdog(options.InactivityTimeout, w.cancel)
	var err error
	if w.lines, err = s.connect(w.ctx, options, version, check, w.alive); w.lines == nil { //nolint:contextcheck // made above
		w.alive.stop()
		w.cancel()
		return nil, err
	}
	w.alive.watch(w.lines)
	s.health.connected()
	return w, nil
}

// connect requests a watch. It returns neither lines nor an error if the watch has ended before.
func (s *Stream) connect(ctx context.Context, options Options, version string, check bool, alive *watchdog) (Lines, error) {
	lines, err := s.source().Watch(ctx, s.request(options, version, alive))
	if code, ok := clients.Code(err); ok && code == http.StatusGone {
		return nil, ErrExpired
	}
	if err != nil {
		return nil, ignoreEnd(ctx, err)
	}
	if check && !lines.Covers(version) {
		if _, err := s.SameServer(ctx, options, version); err != nil {
			lines.Close()
			return nil, ignoreEnd(ctx, err)
		}
	}
	return lines, nil
}

// request describes a watch.
func (s *Stream) request(options Options, version string, alive *watchdog) Request {
	return Request{
		Path: s.Path, Options: options, Version: version, Initial: s.initial != nil, Active: alive.active, Failed: s.health.retried,
		Interest: s.attention.begun, Known: maps.Keys(s.known.own), // only the run changes them
	}
}

// follow passes on the events of the watch until it ends. Ends of connections are normal; an expired
// version is an error. It returns waits if there is no event now, but wake will be called: it must
// be called again then.
func (w *watch) follow(sink Sink, wake func()) (waits bool, err error) {
	for {
		event, waits, err := w.next(wake)
		switch {
		case waits:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, nil // the next watch continues from here
		case err != nil:
			return false, err
		}
		if w.version, err = w.take(event, w.version, sink); err != nil {
			return false, err
		}
	}
}

// next returns the next event. It waits for it, if the lines cannot call wake.
func (w *watch) next(wake func()) (event Event, waits bool, err error) {
	if idle, ok := w.lines.(Idle); ok && wake != nil {
		return idle.Poll(w.ctx, wake)
	}
	event, err = w.lines.Next(w.ctx)
	return event, false, err
}

// close ends the watch.
func (w *watch) close() {
	w.health.disconnected()
	w.lines.Close()
	w.alive.stop()
	w.cancel()
}
