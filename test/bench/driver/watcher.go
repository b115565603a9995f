package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// watcher notes when each object was first seen in a wanted state: mostly handled, when
// the field of its status is the wanted one.
type watcher struct {
	cancel context.CancelFunc
	ended  chan error // one error, when the watch has ended

	mu    sync.Mutex
	holds func(*watchEvent) bool // the wanted state
	want  int
	seen  map[string]time.Time
	all   chan struct{} // closed when so many are seen
}

// watch begins with the present state of the objects.
func (a *api) watch(ctx context.Context) (*watcher, error) {
	var list struct {
		Metadata metadata `json:"metadata"`
	}
	if err := a.do(ctx, http.MethodGet, examples+"?limit=1", "", nil, &list); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{cancel: cancel, ended: make(chan error, 1)}
	go func() { w.ended <- w.follow(ctx, a, list.Metadata.Version) }() // Ends when it is cancelled, by stop.
	return w, nil
}

// stop ends the watch.
func (w *watcher) stop() { w.cancel() }

// follow reads one stream after another. The server ends a stream when its reader is
// too slow, as on a busy machine; the next one continues from its last version.
func (w *watcher) follow(ctx context.Context, a *api, version string) error {
	for {
		stream, err := a.open(ctx, http.MethodGet, examples+"?watch=1&resourceVersion="+version, "", nil)
		if err == nil {
			version, err = w.read(stream, version)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("the watch of the driver: %w", err)
		}
	}
}

// read notes the events of one stream, and returns the version of the last one.
func (w *watcher) read(stream io.ReadCloser, version string) (string, error) {
	defer stream.Close()
	reader := bufio.NewReaderSize(stream, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return version, err
		}
		var event watchEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return version, err
		}
		if event.Type == "ERROR" {
			return version, errors.New(string(line))
		}
		w.note(&event, time.Now())
		version = event.Object.Metadata.Version
	}
}

// metadata has what the driver wants to know of an object or a list.
type metadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"resourceVersion"`
	Finalizers []string `json:"finalizers"`
}

// watchEvent has what the driver wants to know of an event.
type watchEvent struct {
	Type   string `json:"type"`
	Object struct {
		Metadata metadata `json:"metadata"`
		Status   struct {
			Field string `json:"field"`
		} `json:"status"`
	} `json:"object"`
}

func (w *watcher) note(event *watchEvent, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := event.Object.Metadata.Name
	if w.seen == nil || !w.seen[name].IsZero() || !w.holds(event) {
		return
	}
	w.seen[name] = now
	if len(w.seen) == w.want {
		close(w.all)
	}
}

// expect begins to wait for so many objects that are handled with this field.
func (w *watcher) expect(n int, field string) {
	w.expectThat(n, func(event *watchEvent) bool { return event.Object.Status.Field == field })
}

// expectThat begins to wait for so many objects in a state.
func (w *watcher) expectThat(n int, holds func(*watchEvent) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds, w.want, w.seen, w.all = holds, n, make(map[string]time.Time, n), make(chan struct{})
}

// wait returns when all expected objects are handled, and tells when each of them was.
func (w *watcher) wait(ctx context.Context, timeout time.Duration, exited <-chan struct{}) (map[string]time.Time, error) {
	select {
	case <-w.all:
		return w.seen, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case err := <-w.ended:
		return nil, err
	case <-exited:
		return nil, errExited
	case <-time.After(timeout):
		w.mu.Lock()
		defer w.mu.Unlock()
		return nil, fmt.Errorf("only %d of %d objects are handled after %s", len(w.seen), w.want, timeout)
	}
}
