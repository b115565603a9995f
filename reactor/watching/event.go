// Package watching streams the events of one resource: first a listing, then a
// watch from its version on, for ever. Objects pass through as bytes.
//
// The rules for listing and watching are those of the Reflector of client-go
// (tools/cache/reflector.go, v0.36), which collects all decoded objects of a
// listing before it hands on the first; here they go on one by one.
//
// Kopf: kopf._cogs.clients.watching (v1.45).
package watching

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Types of events. The initial listing has none: null in messages.
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
	Meta   Meta   // what is needed before it is decoded
}

// Meta identifies an object and its version.
type Meta struct {
	UID               string `json:"uid"`
	Name              string `json:"name"`
	Namespace         string `json:"namespace"`
	ResourceVersion   string `json:"resourceVersion"`
	CreationTimestamp string `json:"creationTimestamp"`
}

// Key identifies an object in space and time: its uid, or a makeshift for the
// few resources without uids (component statuses).
func (m Meta) Key() string {
	if m.UID != "" {
		return m.UID
	}
	return fmt.Sprintf("%s//%s//%s", m.Namespace, m.Name, m.CreationTimestamp)
}

// parseMeta reads the identity of an object without decoding the rest.
func parseMeta(object []byte) (Meta, error) {
	var head struct {
		Metadata Meta `json:"metadata"`
	}
	if err := json.Unmarshal(object, &head); err != nil {
		return Meta{}, fmt.Errorf("an object in a stream: %w", err)
	}
	return head.Metadata, nil
}

// parseLine splits a line of a watch into its type and its object. The API
// server always writes {"type":…,"object":…}, so the object is cut out; anything
// else is decoded.
func parseLine(line []byte) (kind string, object []byte, err error) {
	const head, middle = `{"type":"`, `","object":`
	line = bytes.TrimSpace(line)
	if rest, ok := bytes.CutPrefix(line, []byte(head)); ok && bytes.HasSuffix(rest, []byte("}}")) {
		name, object, ok := bytes.Cut(rest, []byte(middle))
		if ok && bytes.IndexByte(name, '"') < 0 && json.Valid(object[:len(object)-1]) {
			return string(name), object[:len(object)-1], nil
		}
	}
	var event struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return "", nil, fmt.Errorf("a line of a watch: %w", err)
	}
	return event.Type, event.Object, nil
}
