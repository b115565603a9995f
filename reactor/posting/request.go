// Package posting posts Kubernetes events about objects in the background, in order for
// each object. It never delays the handling of objects.
//
// Kopf: kopf._core.engines.posting, kopf._cogs.clients.events (v1.45).
package posting

import (
	"cmp"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/stores"
)

// Ref is a reference to an object. Unknown parts are empty.
type Ref struct {
	APIVersion string
	Kind       string
	Name       string
	UID        string
	Namespace  string
}

// RefOf makes the reference to an object from its body.
//
// Kopf: kopf.build_object_reference (v1.45).
func RefOf(body dicts.Object) Ref {
	return Ref{
		APIVersion: dicts.LookupString(body, "apiVersion"),
		Kind:       dicts.LookupString(body, "kind"),
		Name:       dicts.LookupString(body, "metadata", "name"),
		UID:        dicts.LookupString(body, "metadata", "uid"),
		Namespace:  dicts.LookupString(body, "metadata", "namespace"),
	}
}

// Clone returns a reference that shares no memory with the body that it was made of. Whatever outlives the handling of an event
// has to have its own, or it keeps the whole text of the body, which counts in no account.
func (r Ref) Clone() Ref {
	return Ref{strings.Clone(r.APIVersion), strings.Clone(r.Kind), strings.Clone(r.Name), strings.Clone(r.UID), strings.Clone(r.Namespace)}
}

// longest is the length of the longest part, in bytes.
func (r Ref) longest() int {
	return max(len(r.APIVersion), len(r.Kind), len(r.Name), len(r.UID), len(r.Namespace))
}

// Object returns the reference in the form of the API, without empty parts.
func (r Ref) Object() dicts.Object {
	object := dicts.Object{}
	for key, value := range map[string]string{
		"apiVersion": r.APIVersion, "kind": r.Kind, "name": r.Name, "uid": r.UID, "namespace": r.Namespace,
	} {
		if value != "" {
			object[key] = value
		}
	}
	return object
}

// Event is one event to post.
type Event struct {
	Ref     Ref
	Type    string // Normal, Warning, Error, or any other
	Reason  string
	Message string

	// Backoffs are the pauses between attempts.
	Backoffs backoffs.Backoffs
}

// Origin describes the source of events.
type Origin struct {
	Component  string // setting posting.reporting_component
	Instance   string // setting posting.reporting_instance
	NamePrefix string // setting posting.event_name_prefix
	Namespace  string // for events of cluster-scoped objects; "default" if empty
}

// maxMessage is the maximum length of a message in characters; the API server rejects
// longer ones.
const maxMessage = 1024

// infix replaces the part that is cut out of a message.
const infix = "..."

// NamespaceOf returns the namespace in which events about an object are posted: its own,
// or that of the origin for cluster-scoped objects.
func (o Origin) NamespaceOf(r Ref) string { return cmp.Or(r.Namespace, o.Namespace, "default") }

// IsEvent reports whether the reference is to an event.
func (r Ref) IsEvent() bool { return r.APIVersion == "v1" && r.Kind == "Event" }

// Request makes the request for an event.
//
// Errors: an invalid namespace.
func (o Origin) Request(e Event, now time.Time) (apipath.Path, dicts.Object, error) {
	e.Ref.Namespace = o.NamespaceOf(e.Ref)
	path, err := apipath.Of(apipath.Target{Version: "v1", Namespace: e.Ref.Namespace, Plural: "events"})
	if err != nil {
		return "", nil, err
	}
	timestamp := stores.FormatTime(now)
	return path, dicts.Object{
		"metadata":           dicts.Object{"namespace": e.Ref.Namespace, "generateName": o.NamePrefix},
		"action":             "Action?",
		"type":               e.Type,
		"reason":             e.Reason,
		"message":            shorten(e.Message),
		"reportingComponent": o.Component,
		"reportingInstance":  o.Instance,
		"source":             dicts.Object{"component": o.Component},
		"involvedObject":     e.Ref.Object(),
		"firstTimestamp":     timestamp,
		"lastTimestamp":      timestamp,
		"eventTime":          timestamp,
	}, nil
}

// shorten cuts the middle out of a message that is too long.
func shorten(message string) string {
	runes := []rune(message)
	if len(runes) <= maxMessage {
		return message
	}
	head := maxMessage/2 - len(infix)/2
	tail := maxMessage - head - len(infix)
	return string(runes[:head]) + infix + string(runes[len(runes)-tail:])
}
