package main

import (
	"context"
	"errors"
	"fmt"
)

// Restarts of an operator that has handled many objects before, small or large ones.
const (
	restart      scenario = "restart"
	restartLarge scenario = "restart, large objects"
)

// largeVariables is how many entries make the spec of an object about 10 KB.
const largeVariables = 210

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

// restartOnly is a word of the flag -only: restarts alone, of all operators or of those
// that are named as well.
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

// restartTurn measures the restarts of one operator: all its rounds over the same
// objects, as these take longer to make than to measure.
func (b *bench) restartTurn(ctx context.Context, index int, p program) error {
	sizes := map[scenario]int{restart: variables}
	if b.Large {
		sizes[restartLarge] = largeVariables
	}
	for _, sc := range []scenario{restart, restartLarge} {
		if sizes[sc] == 0 {
			continue
		}
		fmt.Fprintf(b.Log, "%s: %s, %d objects\n", sc, p.Name, b.Restarts)
		s := &session{bench: b, program: p, index: index, variables: sizes[sc], started: waitingHandled}
		err := s.alone(ctx, func(ctx context.Context) error { return s.restarts(ctx, sc) })
		if err != nil {
			return err
		}
	}
	return nil
}

// waitingHandled does not take the copies of the object for itself.
func waitingHandled(event *watchEvent) bool {
	return event.Object.Metadata.Name == waiting && event.Object.Status.Field == waiting
}

// restarts makes the handled objects, and starts the operator again and again.
func (s *session) restarts(ctx context.Context, sc scenario) (err error) {
	if err := s.start(ctx, ""); err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil { // what is being written must not be lost
		return err
	}
	base := memoryOf(s.process.pid())
	if err := s.stop(); err != nil {
		return err
	}
	api := s.cluster.api
	defer func() { // one after the other, as the server would do it, takes longer
		err = errors.Join(err, each(s.Restarts, func(i int) error { return api.delete(ctx, objectName(i)) }))
	}()
	if err := api.multiply(ctx, waiting, s.Restarts); err != nil {
		return err
	}
	for s.round = range s.Rounds {
		if err := s.startAgain(ctx, sc, base); err != nil {
			return err
		}
		if err := s.stop(); err != nil {
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
	requests, written, err := s.cluster.audit.since(position, name)
	if err != nil {
		return err
	}
	if written > s.Restarts/2 { // they were not handled before, so something else was measured
		return fmt.Errorf("%s: %d objects were handled again: %v", sc, written, requests)
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
