package loggers

import (
	"bytes"
	"testing"

	"github.com/rs/zerolog"

	"github.com/kopf-wasm/kopf/reactor/posting"
)

// posted posts messages from a level on.
type posted struct {
	from  int
	count int
}

func (p *posted) PostsLogs(level int) bool { return level >= p.from }

func (p *posted) Logged(level int, _ posting.Ref, _ string) {
	if p.PostsLogs(level) {
		p.count++
	}
}

// Uses is true for exactly the messages that are written or posted.
func TestUsedMessages(t *testing.T) {
	levels := []int{LevelDebug, LevelInfo, LevelWarn, LevelError}
	for _, shown := range []zerolog.Level{zerolog.TraceLevel, zerolog.DebugLevel, zerolog.InfoLevel, zerolog.ErrorLevel} {
		for _, from := range append([]int{0}, levels...) {
			for _, level := range levels {
				var out bytes.Buffer
				base := zerolog.New(&out).Level(shown)
				poster := &posted{from: from}
				for name, log := range map[string]Logger{
					"posting": {Logger: &base, Post: poster}, "local": Logger{Logger: &base, Post: poster}.Local(), "terse": Logger{Logger: &base, Post: poster}.Terse(),
				} {
					out.Reset()
					poster.count = 0
					log.At(level, "message")
					if got, want := log.Uses(level), out.Len() > 0 || poster.count > 0; got != want {
						t.Errorf("%s at %d, shown from %v, posted from %d: got %t, want %t", name, level, shown, from, got, want)
					}
				}
			}
		}
	}
}
