package main

import (
	"fmt"
	"html"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// measured matches a line of the benchmark of events, such as
// "BenchmarkEvent/objects=1000-2   2000   77827 ns/op   14865 B/op   186 allocs/op".
var measured = regexp.MustCompile(`(?m)^BenchmarkEvent/(\w+)=(\d+)\S*\s+\d+\s+.*?(\d+) B/op\s+(\d+) allocs/op`)

// curve has a value for each number of things in addition to the measured one.
type curve map[int]float64

// plotScaling draws what an event costs next to more and more objects, handlers and operators. It
// returns nothing for other texts.
func plotScaling(text string) map[string]string {
	bytes, allocations := map[string]curve{}, map[string]curve{}
	for _, found := range measured.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[2]) // digits, by the pattern
		for i, curves := range []map[string]curve{bytes, allocations} {
			value, _ := strconv.ParseFloat(found[3+i], 64)
			if curves[found[1]] == nil {
				curves[found[1]] = curve{}
			}
			curves[found[1]][n] = value
		}
	}
	if len(bytes) == 0 {
		return nil
	}
	const height = 210
	content := drawCurves("allocations per object", titleHeight, allocations) + drawCurves("bytes per object", titleHeight+height, bytes)
	return map[string]string{"scaling": drawing("life of one object, next to others", titleHeight+2*height, content)}
}

// Sizes of curves, in pixels.
const (
	curvesLeft   = 70
	curvesWidth  = 430
	curvesHeight = 140
)

// drawCurves draws curves over a logarithmic axis, from zero upwards.
func drawCurves(title string, top int, curves map[string]curve) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<text x="10" y="%d" class="figure">%s</text>`+"\n", top+14, html.EscapeString(title))
	most, places := 0.0, map[int]bool{}
	for _, c := range curves {
		for n, value := range c {
			most, places[n] = max(most, value), true
		}
	}
	counts := slices.Sorted(maps.Keys(places))
	first, last := math.Log10(float64(counts[0])), math.Log10(float64(counts[len(counts)-1]))
	bottom := top + 24 + curvesHeight
	x := func(n int) float64 {
		return curvesLeft + curvesWidth*(math.Log10(float64(n))-first)/max(last-first, 1)
	}
	y := func(value float64) float64 { return float64(bottom) - curvesHeight*value/(most*1.2) }
	fmt.Fprintf(&out, `<path d="M%d %dH%dM%d %dV%d" class="axis"/>`+"\n", curvesLeft, bottom, curvesLeft+curvesWidth, curvesLeft, bottom, top+24)
	fmt.Fprintf(&out, `<text x="%d" y="%.0f" text-anchor="end">%.0f</text><text x="%d" y="%d" text-anchor="end">0</text>`+"\n", curvesLeft-6, y(most)+4, most, curvesLeft-6, bottom+4)
	for _, n := range counts {
		fmt.Fprintf(&out, `<text x="%.0f" y="%d" text-anchor="middle">%d</text>`+"\n", x(n), bottom+16, n)
	}
	for i, name := range slices.Sorted(maps.Keys(curves)) {
		var points []string
		for _, n := range slices.Sorted(maps.Keys(curves[name])) {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(n), y(curves[name][n])))
		}
		fmt.Fprintf(&out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%d 3"/>`+"\n", strings.Join(points, " "), colors[i%len(colors)], 6+6*i)
		fmt.Fprintf(&out, `<text x="%d" y="%d" style="fill:%s">%s</text>`+"\n", curvesLeft+curvesWidth+10, top+40+18*i, colors[i%len(colors)], html.EscapeString(name))
	}
	return out.String()
}
