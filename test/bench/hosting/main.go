// Command hosting measures what idle operators cost in one process, with watches of their
// own and with shared ones, side by side. It starts a cluster, and itself once for each
// line of its table. The README of test/bench describes the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/kopf-wasm/kopf/host/compiler"
	"github.com/kopf-wasm/kopf/internal/processors"
)

// options are the flags.
type options struct {
	rounds  int
	objects int
	counts  []int
	guests  []string
	cases   []string
	shares  []string
	cluster string
	folder  string
}

func main() {
	compiler.Main()
	if len(os.Args) > 1 && os.Args[1] == hostArgument {
		go processors.Adapt(context.Background()) // as kopf does
		exit(runHost(context.Background(), os.Args[2]))
	}
	o := options{}
	counts := flag.String("counts", "1,20,100", "how many operators, comma-separated")
	guests := flag.String("guests", "rust,go", "languages of the modules")
	cases := flag.String("cases", caseOne+","+caseMany, "what the operators are")
	shares := flag.String("watches", "own,shared", "how they watch")
	flag.IntVar(&o.rounds, "rounds", 1, "how often each line is measured")
	flag.IntVar(&o.objects, "objects", 1000, "how many objects the case "+caseSpread+" has")
	flag.StringVar(&o.folder, "folder", ".cache/bench", "where logs and results go")
	flag.StringVar(&o.cluster, "cluster", ".cache/bin/devcluster", "the program of the embedded cluster")
	flag.Parse()
	for text := range strings.SplitSeq(*counts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			exit(fmt.Errorf("-counts: %q is not a number above zero", text))
		}
		o.counts = append(o.counts, n)
	}
	o.guests, o.cases, o.shares = strings.Split(*guests, ","), strings.Split(*cases, ","), strings.Split(*shares, ",")
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	err := run(ctx, o)
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hosting:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
