package apiserver

import (
	"bytes"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// selection is what a listing or a watch asks for.
type selection struct {
	group, plural, namespace, apiVersion string
	labels                               labels.Selector
	name                                 string // metadata.name of the field selector; empty: any
}

// fits reports whether an object is asked for.
func (q *selection) fits(k key, object dicts.Object) bool {
	if k.group != q.group || k.plural != q.plural || q.namespace != "" && k.namespace != q.namespace || q.name != "" && k.name != q.name {
		return false
	}
	set := labels.Set{}
	for name, value := range dicts.LookupObject(object, "metadata", "labels") {
		text, _ := value.(string)
		set[name] = text
	}
	return q.labels.Matches(set)
}

// shown returns an object in the asked version.
func (q *selection) shown(object dicts.Object) dicts.Object {
	if object["apiVersion"] == q.apiVersion {
		return object
	}
	other := dicts.CloneObject(object)
	other["apiVersion"] = q.apiVersion
	return other
}

// watcher is the body of the response to a watch.
type watcher struct {
	selection
	number int

	mu    sync.Mutex // guards the fields below
	ready sync.Cond
	lines bytes.Buffer
	over  bool
	err   error
}

func newWatcher(q selection, number int) *watcher {
	w := &watcher{selection: q, number: number}
	w.ready.L = &w.mu
	return w
}

// send adds an event, if it fits.
func (w *watcher) send(c change) {
	if !w.fits(c.key, c.object) {
		return
	}
	line := dicts.Encode(dicts.Object{"type": c.kind, "object": w.shown(c.object)})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines.Write(append(line, '\n'))
	w.ready.Signal()
}

// end ends the stream. Nil is a normal end.
func (w *watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over, w.err = true, err
	w.ready.Broadcast()
}

// Read implements io.Reader.
func (w *watcher) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.lines.Len() == 0 && !w.over {
		w.ready.Wait()
	}
	switch {
	case w.over && w.err != nil:
		return 0, w.err
	case w.lines.Len() == 0:
		return 0, io.EOF
	}
	return w.lines.Read(p)
}
