package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	of := func(operator string, sc scenario, round int, figures map[figure]float64) result {
		return result{Operator: operator, Scenario: sc, Round: round, Objects: 10, Command: operator + " run", Figures: figures}
	}
	var out strings.Builder
	report{
		operators: []program{{Name: kubeRS}, {Name: "ours"}, {Name: "absent"}},
		results: []result{
			of(kubeRS, burst, 0, map[figure]float64{perSecond: 100, cpu: 2, writes: 1, others: 0.05}),
			of("ours", burst, 0, map[figure]float64{perSecond: 200, cpu: 1, writes: 1, others: 0.05}),
			of("ours", burst, 1, map[figure]float64{perSecond: 120, cpu: 3, writes: 1, others: 0.5}),
			of(kubeRS, burst, 1, map[figure]float64{perSecond: 40, cpu: 2, writes: 1}),
			of(kubeRS, coldStart, 0, map[figure]float64{handled: 0.5}),
			of("ours", coldStart, 0, map[figure]float64{handled: 1}),
		},
		out: &out,
	}.print()
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"## burst: 10 created at once Medians of 2.",
		"| kube-rs | 70 |", // the median of 100 and 40
		"| ours | 160 |",
		"| ours | 2.50 | – | 1.00 |", // the median of 2 and 3; no p99; that of 0.5 and 1.5
		"| ours run |",
		"burst, ours, objects/s: 200 120",
		"## cold start: 10 waiting",
		"| ours | 2.00 |", // each operator has a cold start, also one that keeps nothing
		"in 1 of 3 measurements: repeat it",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
	for _, unwanted := range []string{"absent", "## trickle", "events posted", "NaN"} {
		if strings.Contains(text, "| "+unwanted) || strings.Contains(text, "## "+unwanted) {
			t.Errorf("%q is in:\n%s", unwanted, out.String())
		}
	}
}
