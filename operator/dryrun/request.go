package dryrun

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// Kind says what becomes of a request.
type Kind string

// The kinds of requests.
const (
	Patch   Kind = "patch"   // of a handled object: kept in memory
	Event   Kind = "event"   // a Kubernetes event: not sent
	Call    Kind = "call"    // of a guest to Kubernetes: sent as a dry run
	HTTP    Kind = "http"    // of a guest to an HTTP server: not sent, and the guest gets an error
	Refused Kind = "refused" // not sent, and the sender gets an error
)

// Request is a request that an operator would send.
type Request struct {
	Time   time.Time `json:"time"`
	Kind   Kind      `json:"kind"`
	Method string    `json:"method"`
	Path   string    `json:"path"`           // with the query; for HTTP servers, the URL
	Type   string    `json:"type,omitempty"` // the content type of the body

	// Body is the body in JSON; a string, if it is not JSON.
	Body json.RawMessage `json:"body,omitempty"`

	// Status is the status of the API server's answer to a dry run; 0: it was not asked.
	Status int `json:"status,omitempty"`
}

func newRequest(kind Kind, method, path, contentType string, body []byte) Request {
	r := Request{Time: time.Now(), Kind: kind, Method: method, Path: path, Type: contentType}
	switch {
	case len(body) == 0:
	case json.Valid(body):
		r.Body = body
	default:
		r.Body = dicts.Encode(string(body))
	}
	return r
}

// NewHTTP makes the request of a guest to an HTTP server.
func NewHTTP(method, url string, body []byte) Request { return newRequest(HTTP, method, url, "", body) }

// String describes the request on one line.
func (r Request) String() string {
	switch r.Kind {
	case Patch:
		return fmt.Sprintf("Would patch %s: %s", r.Path, r.Body)
	case Event:
		event, _ := dicts.DecodeObject(r.Body) // nil without an object: then all is empty
		text := func(path ...string) string { return dicts.LookupString(event, path...) }
		name := strings.TrimPrefix(text("involvedObject", "namespace")+"/"+text("involvedObject", "name"), "/")
		return fmt.Sprintf("Would post an event about %s %s: %s %s: %s", text("involvedObject", "kind"), name, text("type"), text("reason"), text("message"))
	case Call, HTTP, Refused:
	}
	line := fmt.Sprintf("Would request %s %s", r.Method, r.Path)
	if len(r.Body) > 0 {
		line += ": " + string(r.Body)
	}
	switch {
	case r.Status > 0:
		line += fmt.Sprintf(" (a dry run of the server answers %d %s)", r.Status, http.StatusText(r.Status))
	case r.Kind != Call:
		line += " (the sender gets an error, because a dry run of it is impossible)"
	}
	return line
}
