package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// plot draws what an earlier run has left: the results of a run (results.json), or the output of
// `go test -bench Event ./reactor/processing`.
func (o *options) plot(source string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	plots := plotScaling(string(text))
	var results []result
	if filepath.Ext(source) == ".json" {
		if err := json.Unmarshal(text, &results); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		plots = report{results: results}.plots()
	}
	if len(plots) == 0 {
		return fmt.Errorf("%s has no results of a benchmark", source)
	}
	return errors.Join(o.savePlots(plots), o.publish(results))
}

// savePlots writes drawings, and prints their paths.
func (o *options) savePlots(plots map[string]string) error {
	folder := filepath.Join(o.Folder, "plots")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(plots)) {
		path := filepath.Join(folder, name+".svg")
		if err := os.WriteFile(path, []byte(plots[name]), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(o.Log, "drew", path)
	}
	return nil
}

// plots draws each scenario that was measured: bars for the medians, dots for the values of all
// rounds.
func (r report) plots() map[string]string {
	plots := map[string]string{}
	for _, t := range tables {
		var panels []panel
		for _, c := range t.ratios() {
			if p := r.panel(t, c); len(p.bars) > 0 {
				panels = append(panels, p)
			}
		}
		if len(panels) > 0 {
			plots[strings.NewReplacer(", ", "-", " ", "-").Replace(t.name())] = drawBars(t.name(), panels)
		}
	}
	return plots
}

// panel is one figure of all operators.
type panel struct {
	title string
	bars  []bar
}

// bar is one figure of one operator.
type bar struct {
	name   string
	median string
	values []float64
}

func (r report) panel(t table, c column) panel {
	p := panel{title: c.title}
	for _, name := range r.names() {
		if values := values(r.of(name, t), c.figure); len(values) > 0 {
			p.bars = append(p.bars, bar{name, fmt.Sprintf(c.format, median(values)), values})
		}
	}
	return p
}

// names are those of the operators, in the order of the report.
func (r report) names() []string {
	var names []string
	for _, p := range r.operators {
		names = append(names, p.Name)
	}
	for _, one := range r.results { // all of them, if they were read from a file
		if !slices.Contains(names, one.Operator) {
			names = append(names, one.Operator)
		}
	}
	return names
}

// Sizes of a drawing, in pixels.
const (
	drawingWidth = 640
	titleHeight  = 34
	rowHeight    = 18
	panelGap     = 40
	barsLeft     = 150
	barsWidth    = 400
)

// drawBars draws panels one below the other.
func drawBars(title string, panels []panel) string {
	var out strings.Builder
	y := titleHeight
	for _, p := range panels {
		fmt.Fprintf(&out, `<text x="10" y="%d" class="figure">%s</text>`+"\n", y+14, html.EscapeString(p.title))
		y += 22
		most := 0.0
		for _, b := range p.bars {
			most = max(most, slices.Max(b.values))
		}
		for i, b := range p.bars {
			b.draw(&out, y, most, i)
			y += rowHeight
		}
		y += panelGap - 22
	}
	return drawing(title, y, out.String())
}

// draw draws a bar whose panel ends at the value most.
func (b bar) draw(out *strings.Builder, y int, most float64, index int) {
	scale := func(value float64) float64 { return barsWidth * value / max(most, math.SmallestNonzeroFloat64) }
	middle := scale(median(b.values))
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", barsLeft-8, y+13, html.EscapeString(b.name))
	fmt.Fprintf(out, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", barsLeft, y+2, middle, rowHeight-4, colors[index%len(colors)])
	for _, value := range b.values {
		fmt.Fprintf(out, `<circle cx="%.1f" cy="%d" r="1.8" class="round"/>`+"\n", barsLeft+scale(value), y+rowHeight/2)
	}
	fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", barsLeft+barsWidth+10, y+13, html.EscapeString(b.median))
}

// colors of operators, and of curves.
var colors = []string{"#7aa6c2", "#c2967a", "#8fbc8f", "#b79ac8", "#d1b85a", "#9aa5ad"}

// drawing is an SVG image with a title, on white, which is legible on all pages.
func drawing(title string, height int, content string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">
<style>text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.figure{font-weight:bold}.round{fill:#222;fill-opacity:.55}.axis{stroke:#bbb}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="10" y="22" class="title">%s</text>
%s</svg>
`, drawingWidth, height, drawingWidth, height, html.EscapeString(title), html.EscapeString(title), content)
}
