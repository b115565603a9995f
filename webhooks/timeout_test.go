package webhooks

import (
	"net/url"
	"testing"
)

// TestTimeoutsOfQueries: the timeout is read from a query in any form.
func TestTimeoutsOfQueries(t *testing.T) {
	for query, want := range map[string]string{
		"": "", "timeout=10s": "10s", "timeout=": "", "timeout=1%30s": "10s", "timeout=1+s": "1 s", "timeout=10s&dryRun=1": "10s",
		"x=1&timeout=5s": "5s", "timeout=1s&timeout=2s": "1s", "timeout=a=b": "a=b", "timeouts=1s": "", "timeout=1s;x": "",
	} {
		u := &url.URL{RawQuery: query}
		if got := timeoutOf(u); got != want || got != u.Query().Get("timeout") {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
