package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// scenario is what happens to the objects.
type scenario string

const (
	coldStart scenario = "cold start" // one object waits; the folder for caches is empty
	warmStart scenario = "warm start" // one object waits
	burst     scenario = "burst"      // many objects are created at once
	update    scenario = "update"     // all of them are changed at once
	trickle   scenario = "trickle"    // one object is created every 50 ms
)

// pace is the time between two objects of the trickle.
const pace = 50 * time.Millisecond

// bench is a run of the benchmarks.
type bench struct {
	options
	cluster *cluster
	results []result
}

// turn measures one operator in all scenarios, without and with events.
func (b *bench) turn(ctx context.Context, round, index int, p program) error {
	for _, posting := range b.postings() {
		if posting && !p.Events {
			continue
		}
		fmt.Fprintf(b.Log, "round %d of %d: %s%s\n", round+1, b.Rounds, p.Name, map[bool]string{true: ", events posted"}[posting])
		s := &session{bench: b, program: p, posting: posting, round: round, index: index}
		for _, scenarios := range []func(context.Context) error{s.load, s.trickle} {
			if err := s.alone(ctx, scenarios); err != nil {
				return err
			}
		}
	}
	return nil
}

// session is one operator in one round.
type session struct {
	*bench
	program   program
	row       string // of the tables; empty: the name of the program
	posting   bool
	round     int
	index     int                    // of the user
	starts    int                    // so far
	variables int                    // in the spec of the waiting object; 0: as many as in all others
	started   func(*watchEvent) bool // by the waiting object; nil: when it is handled
	process   *process
	more      []*process // further replicas of the operator
	watcher   *watcher
}

// pids are the processes of the operator.
func (s *session) pids() []int {
	pids := []int{s.process.pid()}
	for _, one := range s.more {
		pids = append(pids, one.pid())
	}
	return pids
}

// alone runs scenarios on an empty cluster, and ends the operator after them.
func (s *session) alone(ctx context.Context, scenarios func(context.Context) error) (err error) {
	if err := s.cluster.api.clean(ctx); err != nil {
		return err
	}
	if s.watcher, err = s.cluster.api.watch(ctx); err != nil {
		return err
	}
	defer s.watcher.stop()
	err = scenarios(ctx)
	if s.process != nil {
		err = errors.Join(err, s.stop())
	}
	return err
}

// startOnly is a word of the flag -only: starts alone, of all operators or of those that are
// named as well.
const startOnly = "start"

// startTurn measures the starts of one operator in one round.
func (b *bench) startTurn(ctx context.Context, round, index int, p program) error {
	s := &session{bench: b, program: p, round: round, index: index}
	return s.alone(ctx, s.starting)
}

// starting is a cold start, except where events are posted, and then a warm one.
func (s *session) starting(ctx context.Context) error {
	if !s.posting {
		if err := os.RemoveAll(s.cache()); err != nil { // all operators start twice, also those that keep nothing
			return err
		}
		if err := s.start(ctx, coldStart); err != nil {
			return err
		}
		if err := s.stop(); err != nil {
			return err
		}
	}
	return s.start(ctx, warmStart)
}

// load are the starts, the burst, and the update of its objects.
func (s *session) load(ctx context.Context) error {
	if err := s.starting(ctx); err != nil {
		return err
	}
	api := s.cluster.api
	created := func(i int) error { return api.create(ctx, objectName(i), string(burst)) }
	if err := s.measure(ctx, phase{scenario: burst, objects: s.Objects, change: created}); err != nil {
		return err
	}
	changed := func(i int) error { return api.change(ctx, objectName(i), string(update)) }
	return s.measure(ctx, phase{scenario: update, objects: s.Objects, change: changed})
}

// trickle is the latency without queues.
func (s *session) trickle(ctx context.Context) error {
	if s.posting {
		return nil
	}
	if err := s.start(ctx, ""); err != nil {
		return err
	}
	created := func(i int) error { return s.cluster.api.create(ctx, objectName(i), string(trickle)) }
	return s.measure(ctx, phase{scenario: trickle, objects: s.Trickle, change: created, pace: pace})
}

// waiting is the object that an operator finds when it starts.
const waiting = "waiting"

// start starts the operator, and returns when it has handled the object that waits
// for it. That is recorded, unless the scenario has no name.
func (s *session) start(ctx context.Context, sc scenario) error {
	if err := s.cluster.api.clean(ctx); err != nil {
		return err
	}
	if err := s.launch(ctx); err != nil {
		return err
	}
	seen, err := s.watcher.wait(ctx, startTimeout, s.process.exited)
	if err != nil {
		return fmt.Errorf("%s: %w, see %s", sc, err, s.process.log)
	}
	if sc != "" {
		s.record(result{Scenario: sc, Objects: 1, Figures: map[figure]float64{
			handled:    seen[waiting].Sub(s.process.started).Seconds(),
			handledCPU: cpuTime(s.process.pid()).Seconds(),
			peakRSS:    memoryOf(s.process.pid()).Peak,
		}})
	}
	return nil
}

// settled is how long nothing asks the API server before a start. The server answers a list from
// its cache when it has asked etcd for progress, which it does every 100 ms at most for each resource. A
// start sooner after another one measures the rest of this time: 40 of 80 ms.
//
// See https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2340-Consistent-reads-from-cache
const settled = 250 * time.Millisecond

// launch creates the object that waits, and starts the operator.
func (s *session) launch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settled):
	}
	if err := s.cluster.api.createSized(ctx, waiting, waiting, cmp.Or(s.variables, variables)); err != nil {
		return err
	}
	if s.started == nil {
		s.watcher.expect(1, waiting)
	} else {
		s.watcher.expectThat(1, s.started)
	}
	var err error
	s.process, err = s.spawn()
	return err
}

// spawn starts a process of the operator, with more arguments.
func (s *session) spawn(more ...string) (*process, error) {
	kubeconfig, err := s.cluster.kubeconfigFor(s.index)
	if err != nil {
		return nil, err
	}
	environment := append([]string{"KUBECONFIG=" + kubeconfig, "XDG_CACHE_HOME=" + s.cache()}, s.program.Environment...)
	if s.posting {
		environment = append(environment, "BENCH_POSTING=on")
	}
	s.starts++
	events := map[bool]string{true: "-events"}[s.posting]
	log := filepath.Join(s.Folder, "logs", fmt.Sprintf("%s-%d-%d%s.log", s.program.Name, s.round+1, s.starts, events))
	return launch(launching{slices.Concat(s.program.arguments(s.posting), more), environment, log})
}

func (s *session) stop() error {
	var errs []error
	for _, one := range append(s.more, s.process) {
		errs = append(errs, one.stop())
	}
	s.process, s.more = nil, nil
	return errors.Join(errs...)
}

// cache is the folder where the operator may keep what it has compiled.
func (s *session) cache() string {
	folder, err := filepath.Abs(filepath.Join(s.Folder, "xdg", s.program.Name))
	if err != nil { // there is no current folder: nothing would have come so far
		return ""
	}
	return folder
}

// record completes a result and keeps it.
func (s *session) record(r result) {
	r.Operator, r.Posting, r.Round = cmp.Or(s.row, s.program.Name), s.posting, s.round
	r.Command = s.program.line(s.posting)
	s.results = append(s.results, r)
}
