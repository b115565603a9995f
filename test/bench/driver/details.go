package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// busyOthers is how many processors others may use before times are in doubt.
const busyOthers = 0.1

// values of one figure.
func values(list []result, f figure) []float64 {
	all := make([]float64, len(list))
	for i, one := range list {
		all[i] = one.Figures[f]
	}
	return all
}

// printValues writes the values that the medians are made of.
func (r report) printValues() {
	fmt.Fprint(r.out, "## All values, round by round\n\n")
	for _, t := range tables {
		for _, p := range r.operators {
			list := r.of(p.Name, t)
			if len(list) == 0 {
				continue
			}
			for _, c := range t.columns {
				var texts []string
				for _, value := range values(list, c.figure) {
					texts = append(texts, fmt.Sprintf(c.format, value))
				}
				fmt.Fprintf(r.out, "%s, %s, %s: %s\n", t.name(), p.Name, c.title, strings.Join(texts, " "))
			}
		}
	}
	fmt.Fprintln(r.out)
}

// printRequests writes what was asked of the API server in the last round.
func (r report) printRequests() {
	fmt.Fprint(r.out, "## Requests of the last round\n\n")
	for _, t := range tables {
		for _, p := range r.operators {
			list := r.of(p.Name, t)
			if len(list) > 0 && len(list[len(list)-1].Requests) > 0 {
				fmt.Fprintf(r.out, "%s, %s: %s\n", t.name(), p.Name, list[len(list)-1].Requests)
			}
		}
	}
	fmt.Fprintln(r.out)
}

// String lists the requests, the most frequent ones first.
func (r requests) String() string {
	names := slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		return cmp.Or(r[b]-r[a], strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", r[name], name)
	}
	return strings.Join(names, ", ")
}

// warn says so if the machine was not quiet.
func (r report) warn() {
	busy, all := 0, 0
	for _, one := range r.results {
		used, measured := one.Figures[others]
		if !measured {
			continue
		}
		all++
		if used > busyOthers {
			busy++
		}
	}
	if busy > 0 {
		fmt.Fprintf(r.out, "WARNING: others used more than %g processors in %d of %d measurements: repeat it on a quiet machine.\n",
			busyOthers, busy, all)
	}
}
