package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// options are the flags; see main.
type options struct {
	Rounds, Objects, Trickle, Daemons, Restarts int

	Large bool // restarts over large objects, too

	Only, Posting   string
	Folder, Cluster string
	Publish         string // the folder of the manual that gets the results; empty: none
	Also            []program

	Out io.Writer // the tables
	Log io.Writer // what is being done
}

func (o *options) check() error {
	if o.Rounds < 1 || o.Objects < 1 || o.Trickle < 1 || o.Daemons < 0 || o.Restarts < 0 {
		return errors.New("the flags -rounds, -objects and -trickle must be positive, -daemons and -restarts not negative")
	}
	if o.Posting != "on" && o.Posting != "off" && o.Posting != "both" {
		return fmt.Errorf("invalid value %q of -posting: must be on, off or both", o.Posting)
	}
	return nil
}

// postings lists the ways to measure: without events, with them, or both.
func (o *options) postings() []bool {
	switch o.Posting {
	case "on":
		return []bool{true}
	case "off":
		return []bool{false}
	}
	return []bool{false, true}
}

// run measures all operators in interleaved rounds, and reports.
func run(ctx context.Context, o options) error {
	loads, lives, err := chosen(o)
	if err != nil {
		return err
	}
	if err := o.checkPublished(loads); err != nil {
		return err
	}
	for _, p := range slices.Concat(loads, lives) {
		if err := evict(p.Command[0]); err != nil {
			return fmt.Errorf("%s: its program in the page cache: %w", p.Name, err)
		}
	}
	c, err := o.startCluster(ctx)
	if err != nil {
		return err
	}
	defer c.stop()
	b := &bench{options: o, cluster: c}
	switch {
	case o.restrictedTo(startOnly):
		err = b.rounds(ctx, loads, b.startTurn)
	case o.restrictedTo(restartOnly):
		err = b.restartAll(ctx, loads)
	default:
		err = errors.Join(b.rounds(ctx, loads, b.turn), b.rounds(ctx, lives, b.daemonTurn), b.restartAll(ctx, loads))
	}
	if len(b.results) > 0 { // some are better than none
		r := report{slices.Concat(loads, lives), b.results, o.Out}
		r.print()
		err = errors.Join(err, save(filepath.Join(o.Folder, "results.json"), b.results), o.savePlots(r.plots()), o.publish(b.results))
	}
	return err
}

// turn measures one operator in one round.
type turn func(ctx context.Context, round, index int, p program) error

// rounds gives each operator its turn in each round.
func (b *bench) rounds(ctx context.Context, operators []program, turn turn) error {
	for round := range b.Rounds {
		for n := range operators {
			index := (n + round) % len(operators) // another one is the first in each round
			if err := turn(ctx, round, index, operators[index]); err != nil {
				return fmt.Errorf("%s: %w", operators[index].Name, err)
			}
		}
	}
	return nil
}

// save keeps all values, for who wants to look closer.
func save(path string, results []result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
