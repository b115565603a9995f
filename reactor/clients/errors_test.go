package clients

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestErrorsOfOtherServersAreOneLine: a server that is no API server ends its text with a line break.
func TestErrorsOfOtherServersAreOneLine(t *testing.T) {
	err := readError(&http.Response{Status: "404 Not Found", StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader("404 page not found\n"))})
	if err.Error() != "404 Not Found: 404 page not found" {
		t.Errorf("got %q", err)
	}
}
