// Package metricstest compares metrics with the manual, the dashboards and the alert rules, for
// tests.
package metricstest

import (
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics are metrics of our own by name, with the sorted names of their labels.
type Metrics map[string][]string

// Parse parses an answer of /metrics as Prometheus does, and checks what Prometheus expects of
// metrics: texts of help, names, and histograms whose buckets add up.
func Parse(t *testing.T, text string) Metrics {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	found := Metrics{}
	for name, family := range families {
		if !strings.HasPrefix(name, "kopf_") {
			continue
		}
		if counts := family.GetType() == dto.MetricType_COUNTER; family.GetHelp() == "" || family.GetType() == dto.MetricType_UNTYPED || counts != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s: %q", name, family.GetType(), family.GetHelp())
		}
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				labels[label.GetName()] = true
				if strings.ContainsFunc(label.GetValue(), unicode.IsControl) {
					t.Errorf("%s has a label with a control character: %q", name, label.GetValue())
				}
			}
			if h := m.GetHistogram(); h != nil {
				checkHistogram(t, name, h)
			}
		}
		found[name] = slices.Sorted(maps.Keys(labels))
	}
	return found
}

func checkHistogram(t *testing.T, name string, h *dto.Histogram) {
	t.Helper()
	buckets := h.GetBucket()
	if len(buckets) < 2 {
		t.Fatalf("%s has %d buckets", name, len(buckets))
	}
	for i, b := range buckets[1:] {
		if before := buckets[i]; b.GetUpperBound() <= before.GetUpperBound() || b.GetCumulativeCount() < before.GetCumulativeCount() {
			t.Errorf("%s: the buckets %v and %v are not cumulative", name, before, b)
		}
	}
	if last := buckets[len(buckets)-1]; !math.IsInf(last.GetUpperBound(), 1) || last.GetCumulativeCount() != h.GetSampleCount() || h.GetSampleSum() < 0 {
		t.Errorf("%s: the bucket %v does not have all %d", name, last, h.GetSampleCount())
	}
}

// code finds names in tables.
var code = regexp.MustCompile("`([a-z_]+)`")

// Documented returns the metrics in the tables of a text of the manual, with their labels and further
// ones that all but those of the host have.
func Documented(t *testing.T, text string, further ...string) Metrics {
	t.Helper()
	found := Metrics{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			continue
		}
		var labels []string
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			labels = append(labels, m[1])
		}
		if strings.TrimSpace(cells[2]) != "none at all" {
			labels = slices.Concat(labels, further)
		}
		slices.Sort(labels)
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			if strings.HasPrefix(m[1], "kopf_") {
				found[m[1]] = labels
			}
		}
	}
	if len(found) < 10 {
		t.Fatalf("the manual has %d metrics", len(found))
	}
	return found
}

// own finds metrics of our own in dashboards and alert rules.
var own = regexp.MustCompile(`\bkopf_[a-z_]+\b`)

// Used returns the names of the metrics that a dashboard or alert rules use.
func Used(t *testing.T, path string, all Metrics) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range own.FindAllString(string(text), -1) {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base := strings.TrimSuffix(name, suffix)
			if _, ok := all[base]; ok {
				name = base
			}
		}
		names = append(names, name)
	}
	if len(names) < 3 {
		t.Fatalf("%s uses %d metrics", path, len(names))
	}
	return names
}

// Sections returns the text of a page before a heading, and the text from it on.
func Sections(t *testing.T, path, heading string) (before, after string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(page), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %s", path, heading)
	}
	return before, after
}
