package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// These constants describe the case spread.
const (
	spreadClients = 16
	spreadGoal    = 0.80            // objects/s of many operators, by those of one
	spreadPause   = 5 * time.Second // before a burst, and until the process is idle after it
)

// spreading are the figures of one burst.
type spreading struct {
	Guest     string
	Operators int
	Objects   int
	PerSecond float64
	Latencies []float64 // ms, sorted: from the request of a creation to the event of the handled object
	CPU       float64   // ms of the process for each object
}

// spread measures a burst for one operator that serves the whole cluster, and for many that serve a namespace each, in turns.
func (c *cluster) spread(ctx context.Context, o options, guest string) ([]spreading, error) {
	many := slices.Max(o.counts)
	if err := c.provide(ctx, caseSpread, many); err != nil {
		return nil, err
	}
	counts := []int{1, many}
	if c.turns++; c.turns%2 == 0 {
		slices.Reverse(counts)
	}
	var all []spreading
	for _, count := range counts {
		fmt.Fprintf(os.Stderr, "spread: %d objects in %d namespaces, %d operators in %s\n", o.objects, many, count, guest)
		s, err := c.spreadOver(ctx, o, spreading{Guest: guest, Operators: count, Objects: o.objects}, many)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// spreadOver measures one process.
func (c *cluster) spreadOver(ctx context.Context, o options, s spreading, many int) (_ spreading, err error) {
	l := load{objects: s.Objects, clients: spreadClients}
	for i := range many {
		l.namespaces = append(l.namespaces, namespaceOf(caseSpread, i))
	}
	p, err := c.launch(o, figures{Guest: s.Guest, Case: caseSpread, Watching: "shared", Count: s.Operators})
	if err != nil {
		return s, err
	}
	defer func() {
		_ = p.stdin.Close()
		err = errors.Join(err, p.cmd.Wait(), c.clear(ctx, l.namespaces...))
	}()
	if _, err := p.ask(""); err != nil {
		return s, err
	}
	time.Sleep(spreadPause)
	pids := []int{p.cmd.Process.Pid}
	used, began := processTime(pids), time.Now()
	if s.Latencies, err = c.handled(ctx, l); err != nil {
		return s, err
	}
	s.PerSecond = float64(s.Objects) / time.Since(began).Seconds()
	time.Sleep(spreadPause)
	s.CPU = milliseconds(processTime(pids)-used) / float64(s.Objects)
	return s, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// reportSpread prints the medians of all rounds, and the median of the ratios of each round.
func reportSpread(w io.Writer, all []spreading) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nA burst of %d objects. One operator serves the whole cluster, or each of many a namespace. Latency: from the request of a creation to the event of the handled object, in ms.\n\n", all[0].Objects)
	fmt.Fprintln(w, "| guest | operators | objects/s | ratio | goal | p50 | p99 | CPU ms/object |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	type line struct {
		guest     string
		operators int
	}
	lines := map[line][]spreading{}
	var order []line
	for _, s := range all {
		k := line{s.Guest, s.Operators}
		if lines[k] == nil {
			order = append(order, k)
		}
		lines[k] = append(lines[k], s)
	}
	for _, k := range order {
		ratio, goal := "-", "-"
		if k.operators > 1 {
			ratio = fmt.Sprintf("%.2f", median(pairs(lines[k], lines[line{k.guest, 1}], func(many, one spreading) float64 { return many.PerSecond / one.PerSecond })))
			goal = fmt.Sprintf("≥ %.2f", spreadGoal)
		}
		of := func(get func(spreading) float64) float64 { return median(each(lines[k], get)) }
		fmt.Fprintf(w, "| %s | %d | %.0f | %s | %s | %.1f | %.1f | %.3f |\n", k.guest, k.operators, of(func(s spreading) float64 { return s.PerSecond }), ratio, goal,
			of(func(s spreading) float64 { return quantile(s.Latencies, 0.5) }), of(func(s spreading) float64 { return quantile(s.Latencies, 0.99) }), of(func(s spreading) float64 { return s.CPU }))
	}
}

// pairs are the figures of two lines, round by round.
func pairs[T any](a, b []T, get func(a, b T) float64) []float64 {
	var values []float64
	for i := range min(len(a), len(b)) {
		values = append(values, get(a[i], b[i]))
	}
	return values
}

func each[T any](all []T, get func(T) float64) []float64 {
	var values []float64
	for _, one := range all {
		values = append(values, get(one))
	}
	return values
}

func median(values []float64) float64 {
	return quantile(slices.Sorted(slices.Values(values)), 0.5)
}
