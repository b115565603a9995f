package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// daemons is one daemon for each of many objects, waiting with a period of ten
// seconds.
const daemons scenario = "daemons"

// Times of the scenario.
const (
	daemonPeriod  = 10 * time.Second
	daemonTimeout = 10 * time.Minute // for all to start, or to stop
)

// Figures of daemons. What the operator holds without any of them is subtracted.
const (
	daemonCount figure = "daemons"
	perDaemon   figure = "KiB of PSS per daemon"
	rssDaemon   figure = "KiB of resident memory per daemon"
	idleCPU     figure = "per cent of a processor while all daemons wait"
	runningAll  figure = "seconds until all daemons run, from the first creation"
	deletedAll  figure = "seconds until all objects are gone, from their deletion at once"
	exitSeconds figure = "seconds from SIGTERM to the end of the process"
)

var daemonColumns = []column{
	{"daemons", daemonCount, "%.0f", ""},
	{"KiB/daemon", perDaemon, "%.1f", "memory"},
	{"RSS KiB/daemon", rssDaemon, "%.1f", ""},
	{"idle CPU %", idleCPU, "%.2f", "CPU"},
	{"all run s", runningAll, "%.1f", ""},
	{"all deleted s", deletedAll, "%.1f", "deleted"},
	{"exit s", exitSeconds, "%.2f", "exit"},
}

// daemonPrograms are the operators with daemons. Threads are too many for so many
// objects, so theirs are fewer.
var daemonPrograms = []program{
	hosted("daemons-go", ".cache/guests/bench-daemons-go.wasm"),
	hosted("daemons-rust", ".cache/guests/bench-daemons-rust.wasm"),
	referenceDaemons(daemonsReference, 0),
	referenceDaemons(threadsReference, 1000),
}

// Names of the reference in this scenario.
const (
	daemonsReference = "daemons-reference"
	threadsReference = "threads-reference"
)

func referenceDaemons(name string, threads int) program {
	return program{
		Name: name, Objects: threads, Environment: []string{fmt.Sprint("BENCH_THREADS=", threads)},
		Command: []string{".cache/reference/bin/kopf", "run", "--standalone", "-n", "default", "test/bench/peers/kopf/daemons.py"},
	}
}

// daemonTurn measures one operator with daemons.
func (b *bench) daemonTurn(ctx context.Context, round, index int, p program) error {
	s := &session{bench: b, program: p, round: round, index: index, started: hasFinalizer}
	objects := b.Daemons
	if p.Objects > 0 {
		objects = min(objects, p.Objects)
	}
	fmt.Fprintf(b.Log, "round %d of %d: %s, %d daemons\n", round+1, b.Rounds, p.Name, objects)
	return s.alone(ctx, func(ctx context.Context) error { return s.daemons(ctx, objects) })
}

// daemons starts many of them, lets them wait, stops them by deleting their objects,
// starts them again, and ends the operator.
func (s *session) daemons(ctx context.Context, objects int) (err error) {
	if err := s.start(ctx, ""); err != nil {
		return err
	}
	// No other process would remove the finalizers.
	defer func() { err = errors.Join(err, s.cluster.api.abandon(context.WithoutCancel(ctx), objects)) }()
	if err := s.quiet(ctx); err != nil {
		return err
	}
	base := memoryOf(s.process.pid())
	figures := map[figure]float64{daemonCount: float64(objects)}
	if figures[runningAll], err = s.runDaemons(ctx, objects); err != nil {
		return err
	}
	if err := sleep(ctx, 2*daemonPeriod); err != nil { // garbage of the start goes
		return err
	}
	before := cpuTime(s.process.pid())
	if err := sleep(ctx, 2*daemonPeriod); err != nil {
		return err
	}
	figures[idleCPU] = (cpuTime(s.process.pid()) - before).Seconds() / (2 * daemonPeriod).Seconds() * 100
	resetPeak(s.process.pid())
	held := memoryOf(s.process.pid())
	figures[perDaemon] = (held.PSS - base.PSS) * 1024 / float64(objects)
	figures[rssDaemon] = (held.Peak - base.Peak) * 1024 / float64(objects)

	s.watcher.expectThat(objects, isDeleted)
	start := time.Now()
	if err := each(objects, func(i int) error { return s.cluster.api.remove(ctx, objectName(i)) }); err != nil {
		return err
	}
	if _, err := s.watcher.wait(ctx, daemonTimeout, s.process.exited); err != nil {
		return fmt.Errorf("deletion: %w, see %s", err, s.process.log)
	}
	figures[deletedAll] = time.Since(start).Seconds()

	if _, err := s.runDaemons(ctx, objects); err != nil {
		return err
	}
	start = time.Now()
	if err := s.stop(); err != nil {
		return err
	}
	figures[exitSeconds] = time.Since(start).Seconds()
	s.record(result{Scenario: daemons, Objects: objects, Figures: figures})
	return nil
}

// runDaemons creates objects, and returns when all have their finalizers: daemons
// are started before.
func (s *session) runDaemons(ctx context.Context, objects int) (seconds float64, err error) {
	s.watcher.expectThat(objects, hasFinalizer)
	start := time.Now()
	err = each(objects, func(i int) error { return s.cluster.api.create(ctx, objectName(i), "x") })
	if err != nil {
		return 0, err
	}
	if _, err := s.watcher.wait(ctx, daemonTimeout, s.process.exited); err != nil {
		return 0, fmt.Errorf("creation: %w, see %s", err, s.process.log)
	}
	return time.Since(start).Seconds(), nil
}

func hasFinalizer(event *watchEvent) bool { return len(event.Object.Metadata.Finalizers) > 0 }
func isDeleted(event *watchEvent) bool {
	return event.Type == "DELETED" && event.Object.Metadata.Name != waiting
}

// remove deletes one object. So many of them at once are too many for one request:
// the server gives up after a minute.
func (a *api) remove(ctx context.Context, name string) error {
	return a.do(ctx, http.MethodDelete, examples+"/"+name, "", nil, nil)
}

// abandon removes the objects with their finalizers.
func (a *api) abandon(ctx context.Context, objects int) error {
	release := func(name string) {
		// It may have no finalizers, or be gone.
		_ = a.do(ctx, http.MethodPatch, examples+"/"+name, mergePatch, []byte(`{"metadata":{"finalizers":null}}`), nil)
		_ = a.remove(ctx, name)
	}
	release(waiting)
	if err := each(objects, func(i int) error { release(objectName(i)); return nil }); err != nil {
		return err
	}
	return a.clean(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
