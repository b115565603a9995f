package main

import (
	"fmt"
	"io"
	"slices"
)

// goals are the most memory that so many operators may take, in MiB.
var goals = map[int]float64{20: 30, 100: 50, 1000: 200}

// These are the goals of wake-ups, in ms.
const (
	goalMedian = 5
	goalWorst  = 20
)

// key identifies the lines that are compared.
type key struct {
	guest, which, watching string
	count                  int
}

// report prints the medians of all rounds, in the order of the measurement.
func report(w io.Writer, all []figures) {
	fmt.Fprintln(w, "Idle operators in one process. PSS and RSS in MiB; wake-up: from the response of a creation to the event of the handled object, in ms.")
	fmt.Fprintln(w)
	fmt.Fprintln(w, "| guest | case | operators | watches | PSS | goal | RSS | KiB/operator | heap | images | goroutines | sockets | watches at the server | idle CPU % | start s | one more ms | wake-up p50 | p99 | warm p50 | p99 | PSS later |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	rounds := map[key][]figures{}
	var order []key
	for _, f := range all {
		k := key{f.Guest, f.Case, f.Watching, f.Count}
		if rounds[k] == nil {
			order = append(order, k)
		}
		rounds[k] = append(rounds[k], f)
	}
	single := map[key]float64{}
	for _, k := range order {
		r := rounds[k]
		of := func(get func(figures) float64) float64 {
			var values []float64
			for _, f := range r {
				values = append(values, get(f))
			}
			slices.Sort(values)
			return quantile(values, 0.5)
		}
		pss := of(func(f figures) float64 { return f.PSS })
		one := key{k.guest, k.which, k.watching, 1}
		each := "-"
		if k.count == 1 {
			single[one] = pss
		} else if base, ok := single[one]; ok {
			each = fmt.Sprintf("%.0f", 1024*(pss-base)/float64(k.count-1))
		}
		goal := "-"
		if limit, ok := goals[k.count]; ok && commands[k.guest] == nil {
			goal = fmt.Sprintf("≤ %.0f", limit)
		}
		fmt.Fprintf(w, "| %s | %s | %d | %s | %.1f | %s | %.1f | %s | %.1f | %.1f | %.0f | %.0f | %.0f | %.2f | %.2f | %.0f | %.1f | %.1f | %.1f | %.1f | %.1f |\n",
			k.guest, k.which, k.count, k.watching, pss, goal, of(func(f figures) float64 { return f.RSS }), each, of(func(f figures) float64 { return f.Heap }), of(func(f figures) float64 { return f.Images }),
			of(func(f figures) float64 { return float64(f.Goroutines) }), of(func(f figures) float64 { return float64(f.Sockets) }),
			of(func(f figures) float64 { return float64(f.Watches) }), of(func(f figures) float64 { return f.CPU }),
			of(func(f figures) float64 { return f.Start }), of(func(f figures) float64 { return f.More }),
			of(func(f figures) float64 { return quantile(f.Cold, 0.5) }), of(func(f figures) float64 { return quantile(f.Cold, 0.99) }),
			of(func(f figures) float64 { return quantile(f.Warm, 0.5) }), of(func(f figures) float64 { return quantile(f.Warm, 0.99) }),
			of(func(f figures) float64 { return f.After }))
	}
	fmt.Fprintf(w, "\nGoals of wake-ups: p50 ≤ %d ms, p99 ≤ %d ms. KiB/operator: what it takes more than a single operator, divided.\n", goalMedian, goalWorst)
}

// quantile of sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
