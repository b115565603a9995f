package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// report prints the results of a run.
type report struct {
	operators []program
	results   []result
	out       io.Writer
}

// column is a figure in a table.
type column struct {
	title  string
	figure figure
	format string
	ratio  bool // also as a ratio to other operators
}

// table is a scenario, without or with events.
type table struct {
	scenario scenario
	posting  bool
	columns  []column
}

var (
	loadColumns = []column{
		{"objects/s", perSecond, "%.0f", true},
		{"p50 ms", p50, "%.1f", false},
		{"p99 ms", p99, "%.1f", true},
		{"CPU ms/object", cpu, "%.3f", true},
		{"RSS MiB", peakRSS, "%.1f", true},
		{"PSS MiB", peakPSS, "%.1f", false},
		{"writes/object", writes, "%.2f", true},
		{"reads/object", reads, "%.2f", false},
		{"server CPU ms/object", serverCPU, "%.2f", false},
		{"others", others, "%.2f", false},
	}
	startColumns = []column{
		{"handled s", handled, "%.3f", true},
		{"CPU s", handledCPU, "%.3f", true},
		{"RSS MiB", peakRSS, "%.1f", true},
	}
)

var tables = []table{
	{burst, false, loadColumns},
	{update, false, loadColumns},
	{trickle, false, loadColumns},
	{burst, true, loadColumns},
	{update, true, loadColumns},
	{coldStart, false, startColumns},
	{warmStart, false, startColumns},
}

// titles say what the scenarios are.
var titles = map[scenario]string{
	burst:     "created at once",
	update:    "updated at once",
	trickle:   "created one by one, one every 50 ms",
	coldStart: "waiting while the operator starts for the first time",
	warmStart: "waiting while the operator starts",
}

// print writes the tables, and after them all values.
func (r report) print() {
	for _, t := range tables {
		r.printTable(t)
	}
	fmt.Fprint(r.out, "All values, round by round\n\n")
	for _, t := range tables {
		r.printValues(t)
	}
	r.printRequests()
	r.warn()
}

// of are the results of an operator in the scenario of a table, by round.
func (r report) of(operator string, t table) []result {
	var list []result
	for _, one := range r.results {
		if one.Operator == operator && one.Scenario == t.scenario && one.Posting == t.posting {
			list = append(list, one)
		}
	}
	return list
}

// values of one figure.
func values(list []result, f figure) []float64 {
	all := make([]float64, len(list))
	for i, one := range list {
		all[i] = one.Figures[f]
	}
	return all
}

// printTable writes the medians, and the medians of the ratios to two operators.
func (r report) printTable(t table) {
	header := []string{"operator"}
	for _, c := range t.columns {
		header = append(header, c.title)
	}
	for _, base := range []string{kubeRS, reference} {
		for _, c := range t.columns {
			if c.ratio {
				header = append(header, strings.Fields(c.title)[0]+" : "+base)
			}
		}
	}
	rows := [][]string{append(header, "command")}
	objects, rounds := 0, 0
	for _, p := range r.operators {
		list := r.of(p.Name, t)
		if len(list) == 0 {
			continue
		}
		objects, rounds = list[0].Objects, len(list)
		row := []string{p.Name}
		for _, c := range t.columns {
			row = append(row, fmt.Sprintf(c.format, median(values(list, c.figure))))
		}
		for _, base := range []string{kubeRS, reference} {
			for _, c := range t.columns {
				if c.ratio {
					row = append(row, ratioText(values(list, c.figure), values(r.of(base, t), c.figure)))
				}
			}
		}
		rows = append(rows, append(row, list[0].Command))
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintf(r.out, "%s: %d %s (medians of %d)\n\n", t.name(), objects, titles[t.scenario], rounds)
	writeRows(r.out, rows)
}

// name of the scenario.
func (t table) name() string {
	if t.posting {
		return string(t.scenario) + ", events posted"
	}
	return string(t.scenario)
}

// ratioText is the median of the ratios round by round, so that what changes slowly
// during a run counts for both; "–" if there is nothing to compare with.
func ratioText(of, to []float64) string {
	var ratios []float64
	for i := range min(len(of), len(to)) {
		ratios = append(ratios, of[i]/to[i])
	}
	if m := median(ratios); !math.IsNaN(m) && !math.IsInf(m, 0) {
		return fmt.Sprintf("%.2f", m)
	}
	return "–"
}

// printValues writes the values of each round.
func (r report) printValues(t table) {
	for _, p := range r.operators {
		list := r.of(p.Name, t)
		for _, c := range t.columns {
			if len(list) == 0 {
				continue
			}
			var texts []string
			for _, value := range values(list, c.figure) {
				texts = append(texts, fmt.Sprintf(c.format, value))
			}
			fmt.Fprintf(r.out, "%s, %s, %s: %s\n", t.name(), p.Name, c.title, strings.Join(texts, " "))
		}
	}
}

// printRequests writes what was asked of the API server in the last round.
func (r report) printRequests() {
	fmt.Fprint(r.out, "\nRequests of the last round\n\n")
	for _, t := range tables {
		for _, p := range r.operators {
			list := r.of(p.Name, t)
			if len(list) == 0 || len(list[len(list)-1].Requests) == 0 {
				continue
			}
			fmt.Fprintf(r.out, "%s, %s: %s\n", t.name(), p.Name, list[len(list)-1].Requests)
		}
	}
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

// busyOthers is how many processors others may use before times are in doubt.
const busyOthers = 0.1

// warn says so if the machine was not quiet.
func (r report) warn() {
	busy, all := 0, 0
	for _, one := range r.results {
		if used, measured := one.Figures[others]; measured {
			all++
			if used > busyOthers {
				busy++
			}
		}
	}
	if busy > 0 {
		fmt.Fprintf(r.out, "\nWARNING: others used more than %g processors in %d of %d measurements: repeat it on a quiet machine.\n",
			busyOthers, busy, all)
	}
}

// writeRows writes a Markdown table whose columns are aligned in plain text, too.
func writeRows(out io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for number, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(out, "| %-*s ", widths[i], cell)
		}
		fmt.Fprintln(out, "|")
		if number == 0 {
			for _, width := range widths {
				fmt.Fprintf(out, "|%s", strings.Repeat("-", width+2))
			}
			fmt.Fprintln(out, "|")
		}
	}
	fmt.Fprintln(out)
}
