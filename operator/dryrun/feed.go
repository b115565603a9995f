package dryrun

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// feed is the response of a watch: the events of the real cluster as they would be, with those
// that the operator would have caused. It keeps events until they are read, so that who causes
// one never waits for who reads it.
type feed struct {
	cluster *Cluster
	place   place
	real    io.ReadCloser

	mu      sync.Mutex // guards the fields below
	ready   *sync.Cond
	pending bytes.Buffer
	err     error // after the pending events
}

// newFeed begins a feed. It ends when it is closed, or when the real watch ends.
func (c *Cluster) newFeed(p place, real io.ReadCloser) *feed {
	f := &feed{cluster: c, place: p, real: real}
	f.ready = sync.NewCond(&f.mu)
	c.open(f)
	go f.follow() // It ends with the real watch, which Close closes.
	return f
}

// Read waits for the next events.
func (f *feed) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.pending.Len() == 0 && f.err == nil {
		f.ready.Wait()
	}
	if f.pending.Len() > 0 {
		return f.pending.Read(p)
	}
	return 0, f.err
}

// Close ends the feed and the real watch.
func (f *feed) Close() error {
	f.end(io.ErrClosedPipe)
	return f.real.Close()
}

func (f *feed) add(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending.Write(line)
	f.ready.Signal()
}

func (f *feed) end(err error) {
	f.cluster.mu.Lock()
	delete(f.cluster.feeds, f)
	f.cluster.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	f.ready.Signal()
}

// follow passes the events of the real watch on.
func (f *feed) follow() {
	lines := bufio.NewReader(f.real)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			f.pass(line)
		}
		if err != nil {
			f.end(err)
			return
		}
	}
}

// pass adds an event as it would be.
func (f *feed) pass(line []byte) {
	f.cluster.mu.Lock()
	defer f.cluster.mu.Unlock()
	if line = f.changed(line); len(line) > 0 {
		f.add(line)
	}
}

// changed returns an event as it would be; empty if it would not happen. What is no event of an
// object stays as it is. The caller holds the lock of the cluster.
func (f *feed) changed(line []byte) []byte {
	if !f.cluster.differs(f.place.collection) {
		return line
	}
	var event struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if json.Unmarshal(line, &event) != nil || event.Type != "ADDED" && event.Type != "MODIFIED" && event.Type != "DELETED" {
		return line
	}
	object, err := dicts.DecodeObject(event.Object)
	if err != nil {
		return line
	}
	kind, would := f.cluster.happens(f.place.keyOf(object), event.Type, object)
	if kind == "" {
		return nil
	}
	return eventLine(kind, would)
}
