package reactor

import (
	"errors"
	"testing"
)

// What happens first begins a part, whether the operator serves already or not, and once.
func TestOccasions(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	for name, early := range map[string]bool{"before it serves": true, "while it serves": false} {
		t.Run(name, func(t *testing.T) {
			var r occasion
			var got []error
			if early {
				r.happen(first)
			}
			remove := r.begins(func(err error) { got = append(got, err) })
			r.happen(first)
			r.happen(second)
			remove()
			r.happen(second)
			if len(got) != 1 || !errors.Is(got[0], first) {
				t.Errorf("ended with %v", got)
			}
		})
	}
}
