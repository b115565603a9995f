package invocations

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTextsOfModulesForgeNothing: no text of a module controls the terminal, or looks like a record of its own.
func TestTextsOfModulesForgeNothing(t *testing.T) {
	const text = "\x1b[2J\n  error    forged\nresult:"
	r := &Result{
		Handler: "a\x1b[31m\nb", Kind: "create", Filtered: true, Warnings: []string{text}, Logs: []Log{{"info", text}, {"info", "x"}},
		Error: &Failure{Kind: "permanent", Message: text, Stack: "f()\n\tf.go:1\n\x1b[0m\n"},
	}
	var out bytes.Buffer
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	want := `a\u001b[31m\nb (create) failed (permanent): \u001b[2J
|   error    forged
| result:
note: the filters of a\u001b[31m\nb do not match this object: an operator would not call it
stack:
  f()
  	f.go:1
  \u001b[0m
warnings:
  \u001b[2J
  |   error    forged
  | result:
log:
  info     \u001b[2J
  |   error    forged
  | result:
  info     x
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
