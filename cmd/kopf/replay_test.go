package main

import (
	"strings"
	"testing"
)

// TestNamesInRecordingsAreLegible: others may have written a recording.
func TestNamesInRecordingsAreLegible(t *testing.T) {
	if text := withoutValues([]string{"password", "x\x1b]0;title\a\nError: forged"}); strings.ContainsAny(text, "\x1b\a\n") || !strings.Contains(text, "password, x") {
		t.Errorf("%q", text)
	}
}
