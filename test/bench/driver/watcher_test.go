package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestWatcher(t *testing.T) {
	w := &watcher{ended: make(chan error, 1)}
	w.expect(2, "v2")
	version, err := w.read(io.NopCloser(strings.NewReader(`
{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}
{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"2"},"status":{"field":"v1"}}}
{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"3"},"status":{"field":"v2"}}}
{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"4"},"status":{"field":"v2"}}}
`[1:])), "0")
	if version != "4" || !errors.Is(err, io.EOF) {
		t.Errorf("got version %s, %v; want 4 and the end of the stream", version, err)
	}
	if _, err := w.wait(t.Context(), time.Millisecond, nil); err == nil || !strings.Contains(err.Error(), "only 1 of 2") {
		t.Errorf("got %v, want that only one object is handled", err)
	}
	// The next stream continues.
	if _, err := w.read(io.NopCloser(strings.NewReader(
		`{"type":"MODIFIED","object":{"metadata":{"name":"b","resourceVersion":"5"},"status":{"field":"v2"}}}`+"\n")), "4"); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	seen, err := w.wait(t.Context(), time.Minute, nil)
	if err != nil || len(seen) != 2 || seen["a"].IsZero() || seen["b"].IsZero() {
		t.Errorf("got %v, %v; want both objects", seen, err)
	}
}

func TestWatcherOfErrors(t *testing.T) {
	for _, line := range []string{`{"type":"ERROR","object":{"kind":"Status"}}`, `{"type`} {
		if _, err := new(watcher).read(io.NopCloser(strings.NewReader(line+"\n")), "0"); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v, want an error", line, err)
		}
	}
}

func TestWaitForExited(t *testing.T) {
	w := &watcher{ended: make(chan error, 1)}
	w.expect(1, "v1")
	exited := make(chan struct{})
	close(exited)
	if _, err := w.wait(t.Context(), time.Minute, exited); !errors.Is(err, errExited) {
		t.Errorf("got %v, want that it has exited", err)
	}
}

func TestManifest(t *testing.T) {
	if size := len(manifest(objectName(1), "v1", variables)); size < 500 || size > 800 {
		t.Errorf("an object has %d bytes, want 500 to 800", size)
	}
	if size := len(manifest(objectName(1), "v1", largeVariables)); size < 9_500 || size > 10_500 {
		t.Errorf("a large object has %d bytes, want about 10,000", size)
	}
}
