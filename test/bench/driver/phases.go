package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	startTimeout  = time.Minute     // from the start of an operator to its first handled object
	handleTimeout = 3 * time.Minute // for all objects of a phase

	// An operator is quiet when it has used less than a part of a processor for so
	// many looks in a row; what takes longer is an error.
	quietPart     = 0.03
	quietLooks    = 5
	quietInterval = 200 * time.Millisecond
	quietTimeout  = 2 * time.Minute

	memoryInterval = 250 * time.Millisecond // between two looks at the memory
)

// phase is a change of many objects.
type phase struct {
	scenario scenario // also the field that they are changed to
	objects  int
	change   func(i int) error
	pace     time.Duration // between two objects; 0 is all at once
}

// measure changes objects, waits until they are handled, and records the figures.
func (s *session) measure(ctx context.Context, p phase) error {
	if err := s.quiet(ctx); err != nil {
		return err
	}
	position, err := s.cluster.audit.position()
	if err != nil {
		return err
	}
	resetPeak(s.pids()...)
	s.watcher.expect(p.objects, string(p.scenario))
	sampled := sampleMemory(s.pids()...)
	before, start := s.meter(), time.Now()
	changed, err := p.run(ctx)
	if err != nil {
		return err
	}
	seen, err := s.watcher.wait(ctx, handleTimeout, s.process.exited)
	if err != nil {
		return fmt.Errorf("%s: %w, see %s", p.scenario, err, s.process.log)
	}
	figures := p.times(start, changed, seen)
	figures[others] = s.meter().minus(before).others() / time.Since(start).Seconds()
	if err := s.quiet(ctx); err != nil { // what follows belongs to the work, too
		return err
	}
	used, held := s.meter().minus(before), sampled()
	figures[cpu] = perObject(used.operator, p.objects)
	figures[serverCPU] = perObject(used.server, p.objects)
	figures[peakRSS], figures[peakPSS] = held.Peak, held.PSS
	name, _ := user(s.index)
	all, written, err := s.cluster.audit.since(position, name)
	if err != nil {
		return err
	}
	figures[writes] = float64(written) / float64(p.objects)
	figures[reads] = float64(all.total()-written) / float64(p.objects)
	s.record(result{Scenario: p.scenario, Objects: p.objects, Figures: figures, Requests: all})
	return nil
}

// run makes the changes, and tells when the response of each of them came.
func (p *phase) run(ctx context.Context) ([]time.Time, error) {
	responded := make([]time.Time, p.objects)
	one := func(i int) error {
		err := p.change(i)
		responded[i] = time.Now()
		return err
	}
	if p.pace == 0 {
		return responded, each(p.objects, one)
	}
	var running sync.WaitGroup
	failures := make([]error, p.objects)
	start := time.Now()
	for i := range p.objects {
		running.Go(func() { failures[i] = one(i) }) // Waited for below.
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(start.Add(time.Duration(i+1) * p.pace))):
		}
	}
	running.Wait()
	return responded, errors.Join(failures...)
}

// times are the figures that follow from when objects were changed and handled.
func (p *phase) times(start time.Time, changed []time.Time, seen map[string]time.Time) map[figure]float64 {
	last := start
	for _, at := range seen {
		if at.After(last) {
			last = at
		}
	}
	list := latencies(changed, func(i int) time.Time { return seen[objectName(i)] })
	return map[figure]float64{
		perSecond: float64(p.objects) / last.Sub(start).Seconds(),
		p50:       percentile(list, 0.50),
		p99:       percentile(list, 0.99),
	}
}

// usage is the CPU time of those who share the machine.
type usage struct{ operator, server, driver, all time.Duration }

func (s *session) meter() usage {
	return usage{
		operator: cpuTime(s.pids()...),
		server:   cpuTime(s.cluster.PID()),
		driver:   ownTime(),
		all:      machineTime(),
	}
}

func (u usage) minus(before usage) usage {
	return usage{u.operator - before.operator, u.server - before.server, u.driver - before.driver, u.all - before.all}
}

// others is what none of ours has used, in seconds. The sum for the machine is
// coarser than the rest, so it may come out a little too small.
func (u usage) others() float64 {
	return max(0, u.all-u.operator-u.server-u.driver).Seconds()
}

// perObject is a time in ms, divided.
func perObject(d time.Duration, objects int) float64 {
	return d.Seconds() * 1000 / float64(objects)
}

// quiet waits until the operator has nothing to do.
func (s *session) quiet(ctx context.Context) error {
	deadline := time.Now().Add(quietTimeout)
	before, at := cpuTime(s.pids()...), time.Now()
	for looks := 0; looks < quietLooks; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.process.exited:
			return fmt.Errorf("%w, see %s", errExited, s.process.log)
		case <-time.After(quietInterval):
		}
		used, now := cpuTime(s.pids()...), time.Now()
		looks++
		if (used - before).Seconds() > quietPart*now.Sub(at).Seconds() {
			looks = 0
		}
		before, at = used, now
		if now.After(deadline) {
			return fmt.Errorf("it is not idle after %s, see %s", quietTimeout, s.process.log)
		}
	}
	return nil
}

// sampleMemory looks at the memory of processes again and again, until the returned
// function is called for the largest values.
func sampleMemory(pids ...int) func() memory {
	stop, peak := make(chan struct{}), make(chan memory)
	go func() { // Waited for by the function that is returned.
		var most memory
		for {
			m := memoryOf(pids...)
			most = memory{max(most.Peak, m.Peak), max(most.PSS, m.PSS)}
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(memoryInterval):
			}
		}
	}()
	return func() memory {
		close(stop)
		return <-peak
	}
}

// ownTime is the CPU time of the driver.
func ownTime() time.Duration { return processTime(os.Getpid()) }
