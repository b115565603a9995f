package clients_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/meters"
	"github.com/kopf-wasm/kopf/reactor/tracing"
)

// traced keeps spans.
type traced []*tracing.Record

func (s *traced) Record(r *tracing.Record) { *s = append(*s, r) }

// TestEachAttemptIsMeasured: by its method and status, also those that get no response or are refused.
func TestEachAttemptIsMeasured(t *testing.T) {
	var counted meters.Requests
	var spans traced
	client, _ := serve(t, clients.Options{Meter: &counted, Tracer: &spans, Backoffs: backoffs.Seconds(0.001, 0.001, 0.001)}, status(500), broken, status(418), ok)
	if _, err := client.Patch(t.Context(), "/apis/x?secret=1", clients.MergePatch, []byte(`{}`)); err == nil {
		t.Fatal("a refused request succeeds")
	}
	if _, err := client.Get(t.Context(), "/apis/x", nil); err != nil {
		t.Fatal(err)
	}
	want := []meters.Answers{{Method: "GET", Code: "200", Count: 1}, {Method: "PATCH", Code: "500", Count: 1}, {Method: "PATCH", Code: "other", Count: 1}, {Method: "PATCH", Code: "none", Count: 1}}
	if diff := cmp.Diff(want, counted.Read()); diff != "" {
		t.Error(diff)
	}
	if took := counted.Took(); took["PATCH"].Count() != 3 {
		t.Errorf("%d times of patches", took["PATCH"].Count())
	}
	var names []string
	for _, s := range spans {
		failed := ""
		if s.Failed {
			failed = " failed"
		}
		names = append(names, s.Name+failed)
		for _, a := range s.Attributes {
			if a.Key == "url.path" && a.Text != "/apis/x" {
				t.Errorf("the path %q", a.Text)
			}
		}
	}
	if diff := cmp.Diff([]string{http.MethodPatch + " failed", http.MethodPatch + " failed", http.MethodPatch + " failed", http.MethodGet}, names); diff != "" {
		t.Error(diff)
	}
}
