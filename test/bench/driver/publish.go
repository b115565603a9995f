package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// publishedOperators are those that the manual compares, and publishedTables the scenarios.
var (
	publishedOperators = []publishedOperator{
		{"kopf-rust", "kopf-wasm, Rust"}, {"kopf-go", "kopf-wasm, Go"}, {"kopf-python", "kopf-wasm, Python"}, {kubeRS, kubeRS}, {"controller-runtime", "controller-runtime"}, {reference, "Kopf"},
	}
	publishedTables  = []table{{burst, false, publishedColumns, nil}, {update, false, publishedColumns, nil}}
	publishedColumns = []column{
		{"objects per second", perSecond, "%.0f", "objects/s"},
		{"ms of CPU per object", cpu, "%.3f", "CPU"},
		{"MiB of memory, peak", peakRSS, "%.1f", "RSS"},
		{"ms until an object is handled, 99th percentile", p99, "%.1f", "p99"},
	}
)

// publishedOperator is an operator with its name in the manual.
type publishedOperator struct{ measured, shown string }

// Files of the manual.
const (
	page          = "benchmarks.md"
	publishedData = "images/benchmarks-peers.json"
	sectionBegin  = "<!-- make bench PUBLISH=1 -->\n"
	sectionEnd    = "<!-- end -->\n"
)

// errUnpublishable means that results are not those that the manual shows.
var errUnpublishable = errors.New("the results cannot be published")

// published is what the manual shows of a run.
type published struct {
	Machine string   `json:"machine"`
	Date    string   `json:"date"`
	Results []result `json:"results"`
}

// checkPublished finds before a run what the manual would miss.
func (o *options) checkPublished(measured []program) error {
	if o.Publish == "" {
		return nil
	}
	for _, of := range publishedOperators {
		if !slices.ContainsFunc(measured, func(p program) bool { return p.Name == of.measured }) {
			return fmt.Errorf("%w: %s is not measured: name it in ONLY, and see why it is not built", errUnpublishable, of.measured)
		}
	}
	if !slices.Contains(o.postings(), false) {
		return fmt.Errorf("%w: they are those without events: leave out POSTING=on", errUnpublishable)
	}
	return nil
}

// publish writes the results into the manual of the options, if there is one.
func (o *options) publish(results []result) error {
	if o.Publish == "" {
		return nil
	}
	if err := publish(o.Publish, results, machine(), time.Now()); err != nil {
		return err
	}
	fmt.Fprintln(o.Log, "published in", filepath.Join(o.Publish, page))
	return nil
}

// publish writes the results of a run into the manual in a folder: the data, a plot for each scenario, and
// the section of the page that shows them. Results of other operators and scenarios are left out.
//
// Errors: an operator or a scenario was not measured, or the page has no place for the section.
func publish(folder string, results []result, machine string, now time.Time) error {
	p := published{Machine: machine, Date: now.UTC().Format(time.DateOnly)}
	if err := p.choose(results); err != nil {
		return err
	}
	return p.write(folder)
}

// choose keeps those results and figures that the manual shows.
func (p *published) choose(results []result) error {
	for _, t := range publishedTables {
		for _, of := range publishedOperators {
			list := report{results: results}.of(of.measured, t)
			if len(list) == 0 {
				return fmt.Errorf("%w: %s was not measured in the scenario %s", errUnpublishable, of.measured, t.name())
			}
			for _, one := range list {
				figures := map[figure]float64{}
				for _, c := range t.columns {
					figures[c.figure] = one.Figures[c.figure]
				}
				one.Operator, one.Figures, one.Requests, one.Command = of.shown, figures, nil, ""
				p.Results = append(p.Results, one)
			}
		}
	}
	return nil
}

// write writes the files of the manual.
func (p *published) write(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, page))
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), sectionBegin)
	_, after, ends := strings.Cut(rest, sectionEnd)
	if !begins || !ends {
		return fmt.Errorf("%w: %s has no lines %q and %q", errUnpublishable, page, strings.TrimSpace(sectionBegin), strings.TrimSpace(sectionEnd))
	}
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	files := map[string]string{page: before + sectionBegin + p.section() + sectionEnd + after, publishedData: string(data) + "\n"}
	maps.Copy(files, p.plots())
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(files[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// image is the name of the plot of a scenario.
func image(t table) string { return "images/benchmarks-" + string(t.scenario) + ".svg" }

// plots draws each scenario, by the name of the image.
func (p *published) plots() map[string]string {
	r, plots := report{results: p.Results}, map[string]string{}
	for _, t := range publishedTables {
		var panels []panel
		for _, c := range t.columns {
			panels = append(panels, r.panel(t, c))
		}
		plots[image(t)] = drawBars(fmt.Sprintf("%d objects, %s", p.objects(t), titles[t.scenario]), panels)
	}
	return plots
}

// objects is how many objects a scenario has.
func (p *published) objects(t table) int { return p.of(publishedOperators[0], t)[0].Objects }

// of are the results of an operator in a scenario.
func (p *published) of(operator publishedOperator, t table) []result {
	return report{results: p.Results}.of(operator.shown, t)
}

// section is the part of the page: for each scenario, the plot and its medians as a table.
func (p *published) section() string {
	var out strings.Builder
	rounds := len(p.of(publishedOperators[0], publishedTables[0]))
	fmt.Fprintf(&out, "Medians of %d rounds on %s, %s. The [data](%s) has all rounds.\n\n", rounds, p.Date, p.Machine, publishedData)
	for _, t := range publishedTables {
		rows := [][]string{{"operator"}}
		for _, c := range t.columns {
			rows[0] = append(rows[0], c.title)
		}
		for _, of := range publishedOperators {
			row := []string{of.shown}
			for _, c := range t.columns {
				row = append(row, fmt.Sprintf(c.format, median(values(p.of(of, t), c.figure))))
			}
			rows = append(rows, row)
		}
		fmt.Fprintf(&out, "<img src=%q width=%q alt=%q>\n\n", image(t), fmt.Sprint(drawingWidth), fmt.Sprintf("%d objects, %s: bars of the medians, which the table below lists", p.objects(t), titles[t.scenario]))
		writeRows(&out, rows)
	}
	return out.String()
}

// machine describes this machine.
func machine() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // other systems have none
	model := runtime.GOARCH
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d processors (%s), %s", runtime.NumCPU(), model, runtime.GOOS)
}
