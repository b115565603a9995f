package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// options are the flags; see main.
type options struct {
	Rounds, Objects, Trickle int

	Only, Posting   string
	Folder, Cluster string
	Also            []program

	Out io.Writer // the tables
	Log io.Writer // what is being done
}

func (o *options) check() error {
	if o.Rounds < 1 || o.Objects < 1 || o.Trickle < 1 {
		return errors.New("the flags -rounds, -objects and -trickle must be positive")
	}
	if o.Posting != "on" && o.Posting != "off" && o.Posting != "both" {
		return fmt.Errorf("flag -posting: %q is none of: on, off, both", o.Posting)
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
	operators, err := chosen(o)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Log, "starting a cluster...")
	c, err := startCluster(ctx, o.Cluster)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := c.api.define(ctx); err != nil {
		return err
	}
	b := &bench{options: o, cluster: c}
	err = b.rounds(ctx, operators)
	if len(b.results) > 0 { // some are better than none
		report{operators, b.results, o.Out}.print()
		err = errors.Join(err, save(filepath.Join(o.Folder, "results.json"), b.results))
	}
	return err
}

// rounds gives each operator its turn in each round.
func (b *bench) rounds(ctx context.Context, operators []program) error {
	for round := range b.Rounds {
		for turn := range operators {
			index := (turn + round) % len(operators) // nobody is always the first
			if err := b.turn(ctx, round, index, operators[index]); err != nil {
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
