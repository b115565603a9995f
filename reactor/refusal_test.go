package reactor

import (
	"errors"
	"testing"
)

// The first error ends the operator, whether it serves already or not, and once.
func TestRefusals(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	for name, early := range map[string]bool{"before it serves": true, "while it serves": false} {
		t.Run(name, func(t *testing.T) {
			var r refusal
			var got []error
			if early {
				r.refuse(first)
			}
			remove := r.ends(func(err error) { got = append(got, err) })
			r.refuse(first)
			r.refuse(second)
			remove()
			r.refuse(second)
			if len(got) != 1 || !errors.Is(got[0], first) {
				t.Errorf("ended with %v", got)
			}
		})
	}
}
