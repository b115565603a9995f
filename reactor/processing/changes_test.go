package processing

import "testing"

// TestPurposesOfOthers: the message about a purpose that this version does not know has the purpose as it is.
func TestPurposesOfOthers(t *testing.T) {
	for purpose, want := range map[string]string{"create": "Creation", "free": "'free'", "Restoring": "'Restoring'", "é": "'é'"} {
		if got := purposeTitle(purpose); got != want {
			t.Errorf("%q: %q, want %q", purpose, got, want)
		}
	}
}
