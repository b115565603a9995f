// Package posting posts Kubernetes events about objects: in the background, in
// order for each object, and never in the way of the handling.
//
// Kopf: kopf._core.engines.posting, kopf._cogs.clients.events (v1.45).
package posting

import (
	"cmp"
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

// RefOf makes a reference to an object by its body.
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

// Object is the reference as it is sent, without the empty parts.
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

// Event is one event to be posted.
type Event struct {
	Ref     Ref
	Type    string // Normal, Warning, Error, or any other
	Reason  string
	Message string

	// Backoffs are the pauses between attempts.
	Backoffs backoffs.Backoffs
}

// Origin is who posts.
type Origin struct {
	Component  string // settings: posting.reporting_component
	Instance   string // settings: posting.reporting_instance
	NamePrefix string // settings: posting.event_name_prefix
	Namespace  string // for events of cluster-scoped objects; "default" if empty
}

// maxMessage is the longest message in characters; the API server refuses longer ones.
const maxMessage = 1024

// infix stands for what was cut out of a message.
const infix = "..."

// NamespaceOf is where events about an object are posted: its own namespace, or that of
// the origin for cluster-scoped objects.
func (o Origin) NamespaceOf(r Ref) string { return cmp.Or(r.Namespace, o.Namespace, "default") }

// IsEvent tells references to events.
func (r Ref) IsEvent() bool { return r.APIVersion == "v1" && r.Kind == "Event" }

// Request makes the request for an event.
//
// Errors: a namespace that is none.
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
		"message":            Shorten(e.Message),
		"reportingComponent": o.Component,
		"reportingInstance":  o.Instance,
		"source":             dicts.Object{"component": o.Component},
		"involvedObject":     e.Ref.Object(),
		"firstTimestamp":     timestamp,
		"lastTimestamp":      timestamp,
		"eventTime":          timestamp,
	}, nil
}

// Shorten cuts the middle out of a message that is too long.
func Shorten(message string) string {
	runes := []rune(message)
	if len(runes) <= maxMessage {
		return message
	}
	head := maxMessage/2 - len(infix)/2
	tail := maxMessage - head - len(infix)
	return string(runes[:head]) + infix + string(runes[len(runes)-tail:])
}
