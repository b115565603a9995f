package dryrun

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// Wrap returns a transport of the operator's requests that sends none that writes. Its method
// ForGuests returns the transport of the requests of guests.
func (c *Cluster) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{c, next} }

// transport makes the requests of the operator itself.
type transport struct {
	cluster *Cluster
	next    http.RoundTripper
}

// ForGuests implements clients.GuestTransport.
func (t *transport) ForGuests() http.RoundTripper { return &guestTransport{t} }

// events are the Kubernetes events that operators post.
var events = collection{version: "v1", plural: "events"}

// RoundTrip sends a request that reads, and answers any other.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	p, known := placeOf(req.URL.Path)
	switch {
	case req.Method == http.MethodGet:
		if known && p.name == "" && !isWatch(req) {
			t.cluster.lists(p)
		}
		return t.read(req, p, known)
	case req.Method == http.MethodPost && strings.HasSuffix(p.plural, "reviews"):
		return t.next.RoundTrip(req) // questions about rights, which the server does not keep
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	switch {
	case req.Method == http.MethodPatch && p.name != "":
		return t.patch(req, p, body)
	case req.Method == http.MethodPost && p.collection == events:
		t.cluster.Report(newRequest(Event, req.Method, req.URL.RequestURI(), "", body))
		return answer(req, http.StatusCreated, body), nil
	}
	return t.refuse(req, body), nil
}

// CloseIdleConnections closes connections without requests.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// refuse answers a request of which there is no dry run.
func (t *transport) refuse(req *http.Request, body []byte) *http.Response {
	t.cluster.Report(newRequest(Refused, req.Method, req.URL.RequestURI(), req.Header.Get("Content-Type"), body))
	return failure(req, http.StatusForbidden, "Forbidden", "this is a dry run, which does not send the request")
}

// read reads an object, a listing, or a watch, as it would be.
func (t *transport) read(req *http.Request, p place, known bool) (*http.Response, error) {
	if phantom := t.cluster.phantom(p.key()); phantom != nil && p.name != "" {
		return answer(req, http.StatusOK, dicts.Encode(phantom)), nil
	}
	rsp, err := t.next.RoundTrip(req)
	switch {
	case err != nil || !known || rsp.StatusCode != http.StatusOK:
		return rsp, err
	case isWatch(req):
		rsp.Body = t.cluster.newFeed(p, rsp.Body)
		return rsp, nil
	case p.subresource != "" || !t.cluster.touches(p.collection):
		return rsp, nil
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(rsp.Body, clients.MaxBody+1))
	if err != nil {
		return nil, err
	}
	if len(text) > clients.MaxBody {
		return nil, clients.ErrLongBody
	}
	document, err := dicts.DecodeObject(text)
	if err != nil {
		return answer(req, rsp.StatusCode, text), nil // it is no answer that would differ
	}
	if p.name == "" {
		return answer(req, rsp.StatusCode, dicts.Encode(t.listing(p, document))), nil
	}
	would := t.cluster.seen(p.key(), document)
	if would == nil {
		return missing(req, p), nil
	}
	return answer(req, rsp.StatusCode, dicts.Encode(would)), nil
}

// isWatch reports whether a request opens a watch.
func isWatch(req *http.Request) bool {
	watch := req.URL.Query().Get("watch")
	return watch != "" && watch != "0" && watch != "false"
}

// listing returns a page of a listing as it would be. The last page has the phantoms.
func (t *transport) listing(p place, list dicts.Object) dicts.Object {
	items, _ := list["items"].([]any)
	would := []any{}
	for _, item := range items {
		object, ok := item.(dicts.Object)
		if !ok {
			continue
		}
		if seen := t.cluster.seen(p.keyOf(object), object); seen != nil {
			would = append(would, seen)
		}
	}
	if dicts.LookupString(list, "metadata", "continue") == "" {
		for _, object := range t.cluster.phantoms(p) {
			would = append(would, object)
		}
	}
	return with(list, "items", would)
}

// patch changes an object in memory. It reads the object, so that the answer is as new as that
// of the server would be.
func (t *transport) patch(req *http.Request, p place, body []byte) (*http.Response, error) {
	real := t.cluster.phantom(p.key())
	if real == nil {
		read := req.Clone(req.Context())
		read.Method, read.Body, read.ContentLength, read.GetBody = http.MethodGet, nil, 0, nil
		read.Header.Del("Content-Type")
		read.URL.RawQuery = ""
		if p.subresource != "" {
			read.URL.Path, read.URL.RawPath = strings.TrimSuffix(read.URL.Path, "/"+p.subresource), ""
		}
		rsp, err := t.next.RoundTrip(read)
		if err != nil || rsp.StatusCode != http.StatusOK {
			return rsp, err
		}
		defer rsp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(rsp.Body, clients.MaxBody))
		if err != nil {
			return nil, err
		}
		if real, err = dicts.DecodeObject(text); err != nil {
			return nil, err
		}
		if t.cluster.seen(p.key(), real) == nil {
			return missing(req, p), nil
		}
	}
	kind := req.Header.Get("Content-Type")
	report := newRequest(Patch, req.Method, req.URL.RequestURI(), kind, body)
	would, err := t.cluster.patch(p.key(), real, func(object dicts.Object) (dicts.Object, error) { return edited(object, kind, body) }, report)
	if err != nil {
		return failure(req, http.StatusUnprocessableEntity, "Invalid", err.Error()), nil
	}
	return answer(req, http.StatusOK, dicts.Encode(would)), nil
}

// edited returns an object after a patch of the content type.
func edited(object dicts.Object, contentType string, body []byte) (dicts.Object, error) {
	if contentType == clients.JSONPatch {
		patch, err := dicts.Decode(body)
		if err != nil {
			return nil, err
		}
		operations, ok := patch.([]any)
		if !ok {
			return nil, fmt.Errorf("%w: a JSON patch is a list of operations", dicts.ErrOperation)
		}
		return dicts.JSONPatch(object, operations)
	}
	patch, err := dicts.DecodeObject(body)
	if err != nil {
		return nil, err
	}
	result, _ := dicts.MergePatch(object, patch).(dicts.Object)
	return result, nil
}

// bodyOf reads the body of a request.
func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// answer makes a response in JSON.
func answer(req *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// failure makes a response with a status of the API.
func failure(req *http.Request, status int, reason, message string) *http.Response {
	return answer(req, status, dicts.Encode(dicts.Object{
		"apiVersion": "v1", "kind": "Status", "metadata": dicts.Object{}, "status": "Failure", "message": message, "reason": reason, "code": status,
	}))
}

func missing(req *http.Request, p place) *http.Response {
	return failure(req, http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found: it would be deleted", p.plural, p.name))
}

// guestTransport makes the requests of guests.
type guestTransport struct{ *transport }

// connecting are subresources that act on something other than the state of the cluster: there
// is no dry run of them.
var connecting = []string{"exec", "attach", "portforward", "proxy"}

// RoundTrip sends a request: one that writes as a dry run of the server.
func (t *guestTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	p, known := placeOf(req.URL.Path)
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions
	switch {
	case slices.Contains(connecting, p.subresource):
		return t.refuse(req, nil), nil
	case reads && known && req.Method == http.MethodGet:
		return t.read(req, p, known)
	case reads:
		return t.next.RoundTrip(req)
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	if !known {
		return t.refuse(req, body), nil
	}
	report := newRequest(Call, req.Method, req.URL.RequestURI(), req.Header.Get("Content-Type"), body)
	dry := req.Clone(req.Context())
	query := dry.URL.Query()
	query.Set("dryRun", "All")
	dry.URL.RawQuery = query.Encode()
	if req.Method == http.MethodDelete {
		if body, err = dryDeletion(body); err != nil {
			return failure(req, http.StatusBadRequest, "BadRequest", err.Error()), nil
		}
		dry.Header.Set("Content-Type", "application/json")
	}
	dry.Body, dry.ContentLength, dry.GetBody = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	rsp, err := t.next.RoundTrip(dry)
	if err == nil {
		report.Status = rsp.StatusCode
	}
	t.cluster.Report(report)
	return rsp, err
}

// dryDeletion returns the options of a deletion with the one for a dry run. The server ignores
// the query of a deletion that has options.
//
// See https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/
func dryDeletion(options []byte) ([]byte, error) {
	result := dicts.Object{"apiVersion": "v1", "kind": "DeleteOptions"}
	if len(bytes.TrimSpace(options)) > 0 {
		var err error
		if result, err = dicts.DecodeObject(options); err != nil {
			return nil, err
		}
	}
	return dicts.Encode(with(result, "dryRun", []any{"All"})), nil
}
