package e2e_test

import (
	"fmt"
	"testing"
)

// TestOnce: what there is gets handled to its end, retries included; then the exit code
// tells whether all went well.
func TestOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, spec string
		args       []string
		code       int
		last       string
	}{
		{"success", "{field: one}", nil, 0, "All is handled: 5 objects."},
		{"success in the end", "{do: temporary, seconds: 1, times: 1}", nil, 0, "All is handled: 5 objects."},
		{"success with finalizers", "{field: one}", []string{"--config", "handlers=create delete"}, 0, "All is handled: 5 objects."},
		{"failure", "{do: permanent}", nil, 1, "handlers have failed: 5"},
		{"nothing to do", "", nil, 0, "All is handled: 0 objects."},
		{"streamed", "{field: one}", []string{"--set", "watching.initial_streaming=true"}, 0, "All is handled: 5 objects."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			for i := range 5 {
				if test.spec != "" {
					s.create(t, fmt.Sprintf("obj-%d", i), test.spec)
				}
			}
			p := s.spawn(t, append(test.args, "--once")...)
			if code := p.exits(t); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if len(p.stderr.With(test.last)) != 1 {
				t.Errorf("it does not say %q", test.last)
			}
			if test.spec == "" {
				return
			}
			s.manyHandled(t, "obj", 0, 5)
			again := s.spawn(t, append(test.args, "--once")...)
			if code := again.exits(t); code != 0 || len(again.stdout.All()) > 0 {
				t.Errorf("once more: exit code %d, calls: %v", code, again.stdout.All())
			}
		})
	}
}
