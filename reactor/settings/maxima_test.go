package settings

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestMaximaOfSettings: each of them can be set up to the maximum. Above it, a declaration is
// refused, and the value of a guest is lowered. No limit is above every maximum.
func TestMaximaOfSettings(t *testing.T) {
	maxima := Default()
	for _, c := range ceilings {
		name := c.name
		for value, exceeds := range map[string]bool{"0.001": false, "1": false, "1000000": true, "0": name == "process.ultimate_exiting_timeout" || name == "networking.request_timeout" || name == "watching.chunk_size"} {
			if name == "watching.chunk_size" && value == "0.001" {
				continue
			}
			s := Default()
			values := map[string]json.RawMessage{name: json.RawMessage(value)}
			if _, err := s.SetByGuest(values, nil); err != nil {
				t.Fatal(err)
			}
			if err := s.CheckMaxima(maxima); (err != nil) != exceeds || exceeds && !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
			s = Default()
			s.Cap(maxima)
			warnings, err := s.SetByGuest(values, nil)
			if err != nil || (len(warnings) == 1) != exceeds || s.CheckMaxima(maxima) != nil {
				t.Errorf("%s=%s by a guest: %q, %v", name, value, warnings, err)
			}
		}
	}
}
