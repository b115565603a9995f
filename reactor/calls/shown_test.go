package calls

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTextsAreCutBetweenCharacters: messages are UTF-8, whatever a guest has written.
func TestTextsAreCutBetweenCharacters(t *testing.T) {
	if text := shown("x" + strings.Repeat("é", shownLimit)); !utf8.ValidString(text) || !strings.HasSuffix(text, "é…") {
		t.Errorf("got %q", text)
	}
}
