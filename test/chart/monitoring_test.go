package chart_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// metric finds metrics of our own in expressions.
var metric = regexp.MustCompile(`\bkopf_[a-z_]+\b`)

// series are the suffixes of the series of a histogram.
var series = regexp.MustCompile(`_(bucket|sum|count)$`)

// TestDashboardsAndAlertsHaveMetricsThatExist: their expressions can be parsed, and the manual has their metrics.
func TestDashboardsAndAlertsHaveMetricsThatExist(t *testing.T) {
	manual := string(readFile(t, root+"/docs/monitoring.md"))
	for name, given := range map[string]values{"run": everythingRun, "serve": everythingServe} {
		objects := rendered(t, "any", "namespace", given)
		expressions := append(alerts(t, objects), panels(t, objects)...)
		if len(expressions) < 15 {
			t.Errorf("%s: there are %d expressions", name, len(expressions))
		}
		for _, expression := range expressions {
			if _, err := metricsql.Parse(expression); err != nil {
				t.Errorf("%s: %s: %v", name, expression, err)
			}
			for _, found := range metric.FindAllString(expression, -1) {
				if !strings.Contains(manual, "`"+series.ReplaceAllString(found, "")+"`") {
					t.Errorf("%s: docs/monitoring.md has no %s", name, found)
				}
			}
		}
	}
}

// alerts returns the expressions of the alert rules.
func alerts(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var all []string
	for _, group := range field(t, find(t, objects, "PrometheusRule"), "spec.groups").([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			r := rule.(map[string]any)
			all = append(all, r["expr"].(string))
			if annotations := r["annotations"].(map[string]any); annotations["summary"] == "" || annotations["description"] == "" {
				t.Errorf("the alert %v says nothing", r["alert"])
			}
		}
	}
	return all
}

// panels returns the expressions of the dashboard.
func panels(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var all []string
	for _, text := range field(t, find(t, objects, "ConfigMap"), "data").(map[string]any) {
		var dashboard struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal([]byte(text.(string)), &dashboard); err != nil {
			t.Fatal(err)
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				all = append(all, target.Expr)
			}
		}
	}
	return all
}
