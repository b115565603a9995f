package recordings

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"sync"

	"github.com/kopf-wasm/kopf/operator/crossings"
)

// DefaultLimit is the default size of a recording, in bytes.
const DefaultLimit = 256 << 20

// Recorder writes a recording. It is safe for concurrent use.
type Recorder struct {
	redaction *redaction
	limit     int

	mu       sync.Mutex // guards the fields below
	out      *bufio.Writer
	size     int
	messages int
	full     bool
	begun    map[int]bool // recorded calls
	err      error        // the first one
}

// NewRecorder begins a recording, which has at most a number of bytes (0: DefaultLimit), and a
// few more for its end. The secrets, by name, are not written.
func NewRecorder(to io.Writer, h Header, limit int, secrets map[string]string) (*Recorder, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	r := &Recorder{redaction: newRedaction(secrets), limit: limit, out: bufio.NewWriter(to), begun: map[int]bool{0: true}}
	h.Recording, h.Config = Version, maps.Clone(h.Config)
	for key, value := range h.Config {
		h.Config[key] = r.redaction.replace(value)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r, r.write(h)
}

// Border returns what shows the messages of guests to the recorder. The modules of the guests
// need host.Options.Surrounded.
func (r *Recorder) Border() *crossings.Border {
	return &crossings.Border{See: r.see, Surroundings: true}
}

// see records a message. Calls that begin when the recording is full are left out; those that
// have begun are recorded to their end, unless the recording takes twice its limit. Nothing is recorded any more when there are too
// many secrets.
func (r *Recorder) see(c crossings.Crossing) {
	kind, m := encode(c.What)
	r.redaction.learn(&m)
	data, err := json.Marshal(m)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && err != nil {
		r.err = err
	}
	if kind == kindStart || kind == kindAsk {
		if r.size >= r.limit {
			r.full = true
		} else {
			r.begun[c.Call] = true
		}
	}
	if !r.begun[c.Call] {
		return
	}
	if r.size >= 2*r.limit || r.redaction.isFull() {
		r.full = true
		return
	}
	r.messages++
	_ = r.write(line{Call: c.Call, Guest: c.Guest, Kind: kind, Data: json.RawMessage(r.redaction.hide(string(data)))}) // kept in err
	if kind == kindRelease {
		delete(r.begun, c.Call)
	}
}

// write writes one line. The caller holds the lock.
func (r *Recorder) write(value any) error {
	encoded, err := json.Marshal(value)
	if err == nil {
		r.size += len(encoded) + 1
		_, err = r.out.Write(append(encoded, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
	return r.err
}

// Close ends the recording. It returns the first error of all writes.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.write(Footer{End: true, Messages: r.messages, Full: r.full, Redacted: r.redaction.names()}) // kept in err
	return errors.Join(r.err, r.out.Flush())
}
