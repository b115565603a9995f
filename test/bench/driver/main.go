// Command driver compares operators that do the same work: it starts a fresh
// cluster, lets the operators take turns in rounds, loads each of them, measures it
// from outside, and prints tables with the medians, the ratios and all values.
// The README of test/bench describes what is measured, and how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kopf-wasm/kopf/test/attackers"
)

func main() {
	attackers.Main()
	o := options{Out: os.Stdout, Log: os.Stderr}
	flag.IntVar(&o.Rounds, "rounds", 5, "how often each operator has its turn")
	flag.IntVar(&o.Objects, "objects", 1000, "how many objects are created, and then changed, at once")
	flag.IntVar(&o.Trickle, "trickle", 200, "how many objects are created one by one")
	flag.IntVar(&o.Daemons, "daemons", 10_000, "how many objects have a daemon each; 0: no daemons")
	flag.IntVar(&o.Restarts, "restarts", 10_000, "how many handled objects are there when operators start again; 0: no restarts")
	flag.BoolVar(&o.Large, "large", false, "restarts over objects of 10 KB, too")
	flag.StringVar(&o.Only, "only", "", "names of operators, comma-separated (default: all), with start, restart or replicas among them for starts, restarts or replicas alone; or admission alone, or attacks alone")
	flag.StringVar(&o.Posting, "posting", "both", "events posting: off, on, or both")
	flag.Func("also", "another operator to measure, as NAME=COMMAND (repeatable)", o.also)
	flag.StringVar(&o.Folder, "folder", ".cache/bench", "where logs and results go")
	flag.StringVar(&o.Publish, "publish", "", "the folder of the manual, whose page about benchmarks gets the results")
	flag.StringVar(&o.Cluster, "cluster", ".cache/bin/devcluster", "the program of the embedded cluster")
	source := flag.String("plot", "", "draw the results.json of an earlier run, or the output of the benchmark of events, and measure nothing")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	err := o.check()
	switch {
	case err != nil:
	case *source != "":
		err = o.plot(*source)
	case o.Only == admissionOnly:
		err = admissions(ctx, o)
	case o.Only == attacksOnly:
		err = attacks(ctx, o)
	case o.restrictedTo(replicasOnly):
		err = replicas(ctx, o)
	default:
		err = run(ctx, o)
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
