package hostile_test

import (
	"bytes"
	"strings"
	"sync"
)

// journal keeps what is written to it, line by line.
type journal struct {
	mu    sync.Mutex // guards all below
	lines []string
	rest  []byte // a line without its end
}

// Write never fails.
func (j *journal) Write(data []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rest = append(j.rest, data...)
	for {
		line, rest, complete := bytes.Cut(j.rest, []byte("\n"))
		if !complete {
			return len(data), nil
		}
		j.lines = append(j.lines, string(line))
		j.rest = bytes.Clone(rest)
	}
}

// all returns the lines so far.
func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.lines...)
}

// with returns the lines that contain all texts.
func (j *journal) with(texts ...string) []string {
	var found []string
	for _, line := range j.all() {
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
