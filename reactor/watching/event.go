// Package watching streams the events of one resource: a listing, then an endless watch
// that continues from its version. Objects pass through as bytes.
//
// The rules for listing and watching are those of the Reflector of client-go
// (tools/cache/reflector.go, v0.37). The Reflector collects all decoded objects of a
// listing before it passes on the first; this package passes them on one by one.
//
// Kopf: kopf._cogs.clients.watching (v1.45).
package watching

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// These are the types of events. The initial listing has none, which is null in messages.
const (
	Listed   = ""
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	bookmark = "BOOKMARK"
	failure  = "ERROR"
)

// Event is one event of one object.
type Event struct {
	Type   string // Listed, Added, Modified, Deleted
	Object []byte // as the API server sent it
	Meta   Meta   // what is needed before the object is decoded

	// Early means that the object is older than the stream, which passes it for the first
	// time. It is set only if the interest of the stream is Resuming.
	Early bool
}

// Bookmark returns an event that only says how far a watch has come.
func Bookmark(version string) Event {
	return Event{Type: bookmark, Meta: Meta{ResourceVersion: version}}
}

// IsOfObject reports whether the event is about an object.
func (e Event) IsOfObject() bool {
	return e.Type == Listed || e.Type == Added || e.Type == Modified || e.Type == Deleted
}

// Meta identifies an object and its version.
type Meta struct {
	UID               string `json:"uid"`
	Name              string `json:"name"`
	Namespace         string `json:"namespace"`
	ResourceVersion   string `json:"resourceVersion"`
	CreationTimestamp string `json:"creationTimestamp"`
}

// Key identifies an object in space and time. It is the uid, or a substitute for the few
// resources without uids (component statuses).
func (m Meta) Key() string {
	if m.UID != "" {
		return m.UID
	}
	return fmt.Sprintf("%s//%s//%s", m.Namespace, m.Name, m.CreationTimestamp)
}

// errNoObject means that a stream contains a value that is not an object.
var errNoObject = errors.New("an item of a stream is not an object: it has no name")

// parseObject reads the identity and the kind of an object without decoding the rest.
//
// Errors: errNoObject; a text that is not JSON.
func parseObject(object []byte) (meta Meta, kind string, err error) {
	if meta, kind, err = parseMeta(object); err == nil && meta.Name == "" {
		err = fmt.Errorf("%w: %.100s", errNoObject, object)
	}
	return meta, kind, err
}

// MetaOf reads the identity of an object.
//
// Errors: a text that is not JSON; an object without a name.
func MetaOf(object []byte) (Meta, error) {
	meta, _, err := parseObject(object)
	return meta, err
}

// parseMeta is parseObject for objects without a name, such as bookmarks.
func parseMeta(object []byte) (meta Meta, kind string, err error) {
	ok := dicts.Scan(object, func(parent, key string, value []byte) {
		switch {
		case parent == "metadata":
			meta.set(key, value)
		case parent == "" && key == "kind":
			kind = dicts.Text(value)
		}
	})
	if ok {
		return meta, kind, nil
	}
	var head struct {
		Kind     string `json:"kind"`
		Metadata Meta   `json:"metadata"`
	}
	if err := json.Unmarshal(object, &head); err != nil {
		return Meta{}, "", fmt.Errorf("an object in a stream: %w", err)
	}
	return head.Metadata, head.Kind, nil
}

// set sets one member of the metadata.
func (m *Meta) set(key string, value []byte) {
	switch key {
	case "uid":
		m.UID = dicts.Text(value)
	case "name":
		m.Name = dicts.Text(value)
	case "namespace":
		m.Namespace = dicts.Text(value)
	case "resourceVersion":
		m.ResourceVersion = dicts.Text(value)
	case "creationTimestamp":
		m.CreationTimestamp = dicts.Text(value)
	}
}

// parseLine makes an event from a line of a watch. The API server always writes
// {"type":…,"object":…}, so the object is cut out. Other forms are decoded.
func parseLine(line []byte) (Event, error) {
	const head, middle = `{"type":"`, `","object":`
	line = bytes.TrimSpace(line)
	if rest, ok := bytes.CutPrefix(line, []byte(head)); ok && bytes.HasSuffix(rest, []byte("}")) {
		name, object, ok := bytes.Cut(rest, []byte(middle))
		if ok && bytes.IndexByte(name, '"') < 0 {
			event := Event{Type: string(name), Object: object[:len(object)-1]}
			var err error
			if event.Meta, err = event.identify(); err == nil {
				return event, nil
			}
		}
	}
	var event struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return Event{}, fmt.Errorf("a line of a watch: %w", err)
	}
	parsed := Event{Type: event.Type, Object: event.Object}
	var err error
	parsed.Meta, err = parsed.identify()
	return parsed, err
}

// identify reads the identity of the object, for the types that have one.
func (e *Event) identify() (meta Meta, err error) {
	switch e.Type {
	case Added, Modified, Deleted:
		meta, _, err = parseObject(e.Object)
	default:
		meta, _, err = parseMeta(e.Object)
	}
	return meta, err
}

// endsInitial reports whether a bookmark follows the last object of a streamed listing.
//
// See https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
func endsInitial(bookmark []byte) bool {
	var object struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	return json.Unmarshal(bookmark, &object) == nil && object.Metadata.Annotations["k8s.io/initial-events-end"] == "true"
}
