package e2e_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/test/lines"
)

// journal keeps what an operator writes.
type journal struct{ lines.Lines }

// call is what the guests "scripted" and "versions" print when a handler is called, or how a
// sleep of it has ended: the handler "slept" of "versions".
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

	Version string `json:"version"` // of the guest "versions"

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
	for _, line := range j.All() {
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
