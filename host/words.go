package host

import (
	"strings"

	"github.com/kopf-wasm/kopf/host/functions"
)

// words are what a guest has written in one call, for the message of a failure.
type words struct {
	stderr       []byte // the beginning of what went to standard error
	lastCritical string // the last critical log line
}

// maxStderr bounds what is kept of standard error, in bytes.
const maxStderr = 32 << 10

// hear keeps a text from standard error.
func (w *words) hear(data []byte) {
	w.stderr = append(w.stderr, data[:min(len(data), maxStderr-len(w.stderr))]...)
}

// size is how much is kept, in bytes.
func (w *words) size() int { return cap(w.stderr) + len(w.lastCritical) }

// ownWords returns the guest's own message about its failure: the panic line on standard
// error, or else the last critical log line.
func (w *words) ownWords() string {
	lines := strings.Split(functions.Text(w.stderr), "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "): // Go
			return line
		case strings.HasPrefix(line, "thread '") && strings.Contains(line, " panicked at "): // Rust
			if i+1 < len(lines) && lines[i+1] != "" {
				return lines[i+1]
			}
			return line
		}
	}
	return w.lastCritical
}
