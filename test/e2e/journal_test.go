package e2e_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
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

// with returns the lines that contain all the texts.
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

// String is the whole text.
func (j *journal) String() string { return strings.Join(j.all(), "\n") }

// call is what the guest "scripted" prints when a handler is called, or how a
// sleep of it has ended.
type call struct {
	Handler    string   `json:"handler"`
	Reason     string   `json:"reason"`
	Retry      int      `json:"retry"`
	Name       string   `json:"name"`
	Namespace  string   `json:"namespace"`
	Old        any      `json:"old"`
	New        any      `json:"new"`
	Diff       []any    `json:"diff"`
	Finalizers []string `json:"finalizers"`
	Started    string   `json:"started"`
	Called     string   `json:"called"`

	Slept     string `json:"slept"`     // the name of the object
	Cancelled string `json:"cancelled"` // the name of the object
}

// at is when the handler was called, by the clock of this machine.
func (c call) at(t *testing.T) time.Time {
	t.Helper()
	called, err := time.Parse(time.RFC3339Nano, c.Called)
	if err != nil {
		t.Fatalf("a call without its time: %+v: %v", c, err)
	}
	return called
}

// calls are the calls of handlers that are printed so far.
func (j *journal) calls(t *testing.T) []call {
	t.Helper()
	var calls []call
	for _, line := range j.all() {
		var c call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("standard output of the guest: %v: %q", err, line)
		}
		if c.Handler != "" {
			calls = append(calls, c)
		}
	}
	return calls
}

// callsFor are those for one object.
func (j *journal) callsFor(t *testing.T, name string) []call {
	t.Helper()
	var calls []call
	for _, c := range j.calls(t) {
		if c.Name == name {
			calls = append(calls, c)
		}
	}
	return calls
}
