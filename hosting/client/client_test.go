package client

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestAnswersOfOtherServers: the error is one line without types of Go, and an answer that does not
// end is given up.
func TestAnswersOfOtherServers(t *testing.T) {
	tests := []struct {
		name     string
		answer   http.HandlerFunc
		says     string
		patience time.Duration // 0: a minute
	}{
		{"a redirect", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) }, ": 302 Found", 0},
		{"a list", text(`[]`), "the answer is no report of a host: unexpected array", 0},
		{"a number for a name", text(`{"operators":[{"name":5}]}`), "the answer is no report of a host: unexpected number operators.name", 0},
		{"half a report", text(`{"operators":[{`), "the answer is no report of a host: unexpected EOF", 0},
		{"an answer without an end", func(w http.ResponseWriter, r *http.Request) {
			text(`{"operators":[`)(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "the answer is no report of a host: context deadline exceeded", 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			c, err := New(t.Context(), Options{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			c.patience = cmp.Or(tt.patience, time.Minute)
			if _, err := c.Report(t.Context()); err == nil || !strings.HasSuffix(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}
