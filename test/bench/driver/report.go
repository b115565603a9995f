package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// report prints the results of a run.
type report struct {
	operators []program
	results   []result
	out       io.Writer
}

// table is a scenario, without or with events.
type table struct {
	scenario scenario
	posting  bool
	columns  []column
	bases    []string // whom all are compared with; nil: baselines
}

// column is a figure in a table.
type column struct {
	title  string
	figure figure
	format string
	ratio  string // its title among the ratios to other operators; "": it is not there
}

var (
	loadColumns = []column{
		{"objects/s", perSecond, "%.0f", "objects/s"},
		{"p50 ms", p50, "%.1f", ""},
		{"p99 ms", p99, "%.1f", "p99"},
		{"CPU ms/object", cpu, "%.3f", "CPU"},
		{"RSS MiB", peakRSS, "%.1f", "RSS"},
		{"PSS MiB", peakPSS, "%.1f", ""},
		{"writes/object", writes, "%.2f", "writes"},
		{"reads/object", reads, "%.2f", ""},
		{"server CPU ms/object", serverCPU, "%.2f", ""},
		{"others", others, "%.2f", ""},
	}
	startColumns = []column{
		{"handled s", handled, "%.3f", "handled"},
		{"CPU s", handledCPU, "%.3f", "CPU"},
		{"RSS MiB", peakRSS, "%.1f", "RSS"},
	}
)

var tables = []table{
	{burst, false, loadColumns, nil},
	{update, false, loadColumns, nil},
	{trickle, false, loadColumns, nil},
	{burst, true, loadColumns, nil},
	{update, true, loadColumns, nil},
	{coldStart, false, startColumns, nil},
	{warmStart, false, startColumns, nil},
	{restart, false, restartColumns, nil},
	{restartLarge, false, restartColumns, nil},
	{daemons, false, daemonColumns, []string{daemonsReference, threadsReference}},
	{sharedBurst, false, loadColumns, []string{replicasText(1)}},
	{sharedUpdate, false, loadColumns, []string{replicasText(1)}},
	{rebalancing, false, moveColumns, []string{memberJoins}},
}

// titles say what the scenarios are.
var titles = map[scenario]string{
	burst:        "created at once",
	update:       "updated at once",
	trickle:      "created one by one, one every 50 ms",
	coldStart:    "waiting while the operator starts for the first time",
	warmStart:    "waiting while the operator starts",
	restart:      "of 0.6 KB were handled before, and a new one waits",
	restartLarge: "of 10 KB were handled before, and a new one waits",
	daemons:      "with a daemon each that waits, and looks every 10 s",
	sharedBurst:  "created at once, for replicas that share them",
	sharedUpdate: "updated at once, for replicas that share them",
	rebalancing:  "handled before and shared, while a member joins and leaves",
}

// print writes the tables, and after them all values.
func (r report) print() {
	for _, t := range tables {
		r.printTable(t)
	}
	r.printValues()
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

// printTable writes the medians, and the medians of the ratios to two operators.
func (r report) printTable(t table) {
	figures, ratios := [][]string{t.figureHeader()}, [][]string{t.ratioHeader()}
	objects, rounds := 0, 0
	for _, p := range r.operators {
		list := r.of(p.Name, t)
		if len(list) == 0 {
			continue
		}
		objects, rounds = list[0].Objects, max(rounds, len(list))
		figureRow, ratioRow := []string{p.Name}, []string{p.Name}
		for _, c := range t.columns {
			figureRow = append(figureRow, fmt.Sprintf(c.format, median(values(list, c.figure))))
		}
		for _, base := range t.against() {
			against := r.of(base, t)
			for _, c := range t.ratios() {
				ratioRow = append(ratioRow, ratioText(values(list, c.figure), values(against, c.figure)))
			}
		}
		figures = append(figures, append(figureRow, list[0].Command))
		ratios = append(ratios, append(ratioRow, list[0].Command))
	}
	if objects == 0 {
		return
	}
	fmt.Fprintf(r.out, "## %s: %d %s\n\nMedians of %d.\n\n", t.name(), objects, titles[t.scenario], rounds)
	writeRows(r.out, figures)
	fmt.Fprint(r.out, "Medians of the ratios, round by round.\n\n")
	writeRows(r.out, ratios)
}

// name of the scenario.
func (t table) name() string {
	if t.posting {
		return string(t.scenario) + ", events posted"
	}
	return string(t.scenario)
}

// ratios are the columns of the ratios to one operator.
func (t table) ratios() []column {
	var list []column
	for _, c := range t.columns {
		if c.ratio != "" {
			list = append(list, c)
		}
	}
	return list
}

// against are the operators that ratios are made to.
func (t table) against() []string {
	if t.bases != nil {
		return t.bases
	}
	return baselines
}

func (t table) figureHeader() []string {
	header := []string{"operator"}
	for _, c := range t.columns {
		header = append(header, c.title)
	}
	return append(header, "command")
}

func (t table) ratioHeader() []string {
	header := []string{"operator"}
	for _, base := range t.against() {
		for _, c := range t.ratios() {
			header = append(header, c.ratio+" : "+base)
		}
	}
	return append(header, "command")
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
