package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestSumOfAMetric(t *testing.T) {
	var addresses []string
	for i := range 2 {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "# HELP moved Objects.\nmoved{direction=\"in\"} %d\nmoved{direction=\"out\"} 20\nmoved_ever 300\n", i+1)
		}))
		defer server.Close()
		addresses = append(addresses, server.Listener.Addr().String())
	}
	if sum, err := sumOf(t.Context(), addresses, "moved"); err != nil || sum != 43 {
		t.Errorf("got %d, %v, want 1 + 20 + 2 + 20", sum, err)
	}
	if sum, err := sumOf(t.Context(), addresses, "absent"); err != nil || sum != 0 {
		t.Errorf("an absent metric: got %d, %v", sum, err)
	}
}
