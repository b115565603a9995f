// Package lines keeps the output of programs under test.
package lines

import (
	"bytes"
	"strings"
	"sync"
)

// Lines keeps what is written to it, line by line. It is safe for concurrent use. The zero value is empty.
type Lines struct {
	mu   sync.Mutex // guards all below
	all  []string
	rest []byte // a line without its end
}

// Write never fails.
func (l *Lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, data...)
	for {
		line, rest, complete := bytes.Cut(l.rest, []byte("\n"))
		if !complete {
			return len(data), nil
		}
		l.all = append(l.all, string(line))
		l.rest = bytes.Clone(rest)
	}
}

// All returns the lines so far.
func (l *Lines) All() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.all...)
}

// With returns the lines that contain all texts.
func (l *Lines) With(texts ...string) []string {
	var found []string
	for _, line := range l.All() {
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(line, text)
		}
		if !missing {
			found = append(found, line)
		}
	}
	return found
}

// String returns the whole text.
func (l *Lines) String() string { return strings.Join(l.All(), "\n") }
