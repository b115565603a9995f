package main

import (
	"context"
	"fmt"
	"time"
)

// Restarts of an operator that has handled many objects before, small or large ones.
const (
	restart      scenario = "restart"
	restartLarge scenario = "restart, large objects"
)

// largeVariables is how many entries make the spec of an object about 10 KB.
const largeVariables = 210

// fillTimeout is how long an operator may take to handle all objects the first time.
const fillTimeout = 20 * time.Minute

// Figures of restarts.
const (
	idlePSS     figure = "MiB of PSS when it is idle again"
	idlePerUnit figure = "KiB of PSS per idle object, without what it holds with one object"
	allRequests figure = "requests until it is idle again"
	idleUsed    figure = "seconds of CPU of the operator until it is idle again"
)

var restartColumns = []column{
	{"handled s", handled, "%.3f", "handled"},
	{"CPU s", idleUsed, "%.2f", "CPU"},
	{"peak RSS MiB", peakRSS, "%.1f", "peak RSS"},
	{"peak PSS MiB", peakPSS, "%.1f", ""},
	{"idle PSS MiB", idlePSS, "%.1f", "idle PSS"},
	{"KiB/idle object", idlePerUnit, "%.2f", ""},
	{"requests", allRequests, "%.0f", ""},
}

// restartOnly is the flag -only for restarts alone.
const restartOnly = "restart"

// restartAll gives each operator its turn.
func (b *bench) restartAll(ctx context.Context, operators []program) error {
	if b.Restarts == 0 {
		return nil
	}
	for index, p := range operators {
		if err := b.restartTurn(ctx, index, p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// restartTurn measures the restarts of one operator. Its objects are handled by itself
// before, so all rounds of an operator follow each other.
func (b *bench) restartTurn(ctx context.Context, index int, p program) error {
	for _, size := range []struct {
		scenario  scenario
		variables int
	}{{restart, variables}, {restartLarge, largeVariables}} {
		fmt.Fprintf(b.Log, "%s: %s, %d objects\n", size.scenario, p.Name, b.Restarts)
		s := &session{bench: b, program: p, index: index}
		err := s.alone(ctx, func(ctx context.Context) error { return s.restarts(ctx, size.scenario, size.variables) })
		if err != nil {
			return err
		}
	}
	return nil
}

// restarts lets the operator handle the objects, and starts it again and again.
func (s *session) restarts(ctx context.Context, sc scenario, variables int) error {
	if err := s.start(ctx, ""); err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	base := memoryOf(s.process.pid())
	s.watcher.expect(s.Restarts, string(sc))
	api := s.cluster.api
	create := func(i int) error { return api.createSized(ctx, objectName(i), string(sc), variables) }
	if err := each(s.Restarts, create); err != nil {
		return err
	}
	if _, err := s.watcher.wait(ctx, fillTimeout, s.process.exited); err != nil {
		return fmt.Errorf("%s: %w, see %s", sc, err, s.process.log)
	}
	for s.round = range s.Rounds {
		if err := s.quiet(ctx); err != nil { // what is being written must not be lost
			return err
		}
		if err := s.stop(); err != nil {
			return err
		}
		if err := s.startAgain(ctx, sc, base); err != nil {
			return err
		}
	}
	return nil
}

// startAgain starts the operator when all objects but a new one are handled.
func (s *session) startAgain(ctx context.Context, sc scenario, base memory) error {
	if err := s.cluster.api.delete(ctx, waiting); err != nil {
		return err
	}
	position, err := s.cluster.audit.position()
	if err != nil {
		return err
	}
	if err := s.launch(ctx); err != nil {
		return err
	}
	sampled := sampleMemory(s.process.pid())
	seen, err := s.watcher.wait(ctx, startTimeout, s.process.exited)
	if err != nil {
		return fmt.Errorf("%s: %w, see %s", sc, err, s.process.log)
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	used, most, idle := cpuTime(s.process.pid()), sampled(), memoryOf(s.process.pid())
	name, _ := user(s.index)
	requests, _, err := s.cluster.audit.since(position, name)
	if err != nil {
		return err
	}
	s.record(result{Scenario: sc, Objects: s.Restarts, Requests: requests, Figures: map[figure]float64{
		handled:     seen[waiting].Sub(s.process.started).Seconds(),
		idleUsed:    used.Seconds(),
		peakRSS:     most.Peak,
		peakPSS:     most.PSS,
		idlePSS:     idle.PSS,
		idlePerUnit: (idle.PSS - base.PSS) * 1024 / float64(s.Restarts),
		allRequests: float64(requests.total()),
	}})
	return nil
}
