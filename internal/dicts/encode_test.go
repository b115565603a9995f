package dicts_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// TestLongTextsHaveTheirRoomAtOnce: a conversion of megabytes would otherwise take many times as much.
func TestLongTextsHaveTheirRoomAtOnce(t *testing.T) {
	for _, part := range []string{"plain", "é", "€", "😀", `"\`, "\x01\n", "mixed é😀\""} {
		text := strings.Repeat(part, 1<<20/len(part))
		var encoded []byte
		allocated := testing.AllocsPerRun(10, func() { encoded = dicts.AppendString(nil, text) })
		var decoded string
		if err := json.Unmarshal(encoded, &decoded); err != nil || decoded != text {
			t.Errorf("%q: it is encoded as %.50s…, %v", part, encoded, err)
		}
		if allocated > 1 {
			t.Errorf("%q: room is made %v times", part, allocated)
		}
	}
}
