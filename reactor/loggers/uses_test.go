package loggers

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/posting"
)

// posted counts the messages that are posted.
type posted int

func (p *posted) Logged(int, posting.Ref, string) { *p++ }

// Messages that are written are posted, and no others. Uses is true for them.
func TestUsedMessages(t *testing.T) {
	levels := []int{abi.LevelDebug, abi.LevelInfo, abi.LevelWarning, abi.LevelError}
	for _, shown := range []zerolog.Level{zerolog.TraceLevel, zerolog.DebugLevel, zerolog.InfoLevel, zerolog.ErrorLevel} {
		for _, level := range levels {
			var out bytes.Buffer
			base := zerolog.New(&out).Level(shown)
			var poster posted
			full := Logger{Logger: &base, Post: &poster}
			for name, log := range map[string]Logger{"posting": full, "local": full.Local(), "terse": full.Terse()} {
				out.Reset()
				poster = 0
				log.At(level, "message")
				written := out.Len() > 0
				if got := log.Uses(level); got != written {
					t.Errorf("%s at %d, shown from %v: used: %t, written: %t", name, level, shown, got, written)
				}
				if wanted := written && name == "posting"; wanted != (poster == 1) {
					t.Errorf("%s at %d, shown from %v: posted: %d, want %t", name, level, shown, poster, wanted)
				}
			}
		}
	}
}

// TestQuotedNamesAreBounded: nested sub-handlers have ids of 50 KB, and a call can have thousands of them.
func TestQuotedNamesAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		"it's/a":                 `'it\'s/a'`,
		strings.Repeat("x", 512): "'" + strings.Repeat("x", 512) + "'",
		strings.Repeat("x", 600): "'" + strings.Repeat("x", 512) + "… (88 bytes more)'",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%.20s: %s", text, got)
		}
	}
}
