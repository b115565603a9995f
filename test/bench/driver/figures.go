package main

import (
	"math"
	"slices"
	"time"
)

// figure is the name of something measured.
type figure string

// The figures. Times of processors are those of user and system together.
const (
	perSecond  figure = "objects per second, from the first creation to the last handled"
	p50        figure = "ms from the response of the creation to the handled object, median"
	p99        figure = "ms from the response of the creation to the handled object, 99th percentile"
	cpu        figure = "ms of CPU of the operator per object"
	serverCPU  figure = "ms of CPU of the control plane per object"
	peakRSS    figure = "MiB of resident memory, peak"
	peakPSS    figure = "MiB of resident memory with shared pages counted in parts, peak"
	writes     figure = "requests that write, per object"
	reads      figure = "other requests, per object"
	others     figure = "processors used by anybody else meanwhile"
	handled    figure = "seconds from the start of the process to the first handled object"
	handledCPU figure = "seconds of CPU of the operator until then"
)

// result is what one turn of an operator in one scenario gave.
type result struct {
	Operator string             `json:"operator"`
	Scenario scenario           `json:"scenario"`
	Posting  bool               `json:"posting"`
	Round    int                `json:"round"`
	Objects  int                `json:"objects"`
	Command  string             `json:"command"`
	Figures  map[figure]float64 `json:"figures"`
	Requests requests           `json:"requests,omitempty"`
}

// median of values; NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[half-1] + sorted[half]) / 2
	}
	return sorted[half]
}

// percentile of sorted values: the smallest one that so large a part does not exceed.
func percentile(sorted []float64, part float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := int(math.Ceil(part*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// latencies are the sorted times between two moments of each object, in ms. An object
// can be seen handled before the response of its creation is read: that is 0.
func latencies(from []time.Time, to func(i int) time.Time) []float64 {
	list := make([]float64, len(from))
	for i, begin := range from {
		list[i] = max(0, to(i).Sub(begin).Seconds()*1000)
	}
	slices.Sort(list)
	return list
}
