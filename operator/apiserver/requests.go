package apiserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close() // it is read
	}
	rsp, err := s.answer(r, body)
	var failure *Error
	if errors.As(err, &failure) {
		rsp, err = response(failure.Code, dicts.Object{
			"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": number(failure.Code), "reason": failure.Reason, "message": failure.Message,
		}), nil
	}
	if err == nil && s.Seen != nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
		w := Write{Method: r.Method, Path: r.URL.Path, Guest: r.URL.Query().Has("fieldManager"), Status: rsp.StatusCode}
		w.Body, _ = dicts.Decode(body) // nil: none, or not JSON
		s.Seen(w)
	}
	return rsp, err
}

func response(code int, value any) *http.Response {
	text := dicts.Encode(value)
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code) + " " + http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}
}

func (s *Server) answer(r *http.Request, body []byte) (*http.Response, error) {
	path := strings.Trim(r.URL.Path, "/")
	switch path {
	case "api", "apis":
		if !strings.Contains(r.Header.Get("Accept"), "APIGroupDiscoveryList") {
			return response(http.StatusOK, s.versions(path == "api")), nil
		}
		rsp := response(http.StatusOK, s.discovery(path == "api"))
		rsp.Header.Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		return rsp, nil
	case "version":
		return response(http.StatusOK, dicts.Object{"major": "1", "minor": "0", "gitVersion": "v1.0.0-kopf-test"}), nil
	}
	if strings.HasPrefix(path, "apis/authorization.k8s.io/") {
		return s.review(body)
	}
	t, err := s.target(path)
	if err != nil {
		if list := s.listed(path); list != nil && r.Method == http.MethodGet {
			return response(http.StatusOK, list), nil
		}
		return nil, err
	}
	return t.serve(r, body)
}

// review allows everything.
func (s *Server) review(body []byte) (*http.Response, error) {
	object, err := dicts.DecodeObject(body)
	if err != nil {
		return nil, failf(http.StatusBadRequest, "BadRequest", "the review: %v", err)
	}
	object["status"] = dicts.Object{"allowed": true}
	return response(http.StatusCreated, object), nil
}

// target is what the path of a request names.
type target struct {
	*Server
	key
	resource    selectors.Resource
	subresource string
}

func (s *Server) target(path string) (*target, error) {
	unknown := failf(http.StatusNotFound, "NotFound", "the server could not find the requested resource: /%s", path)
	parts := strings.Split(path, "/")
	t := &target{Server: s}
	var version string
	switch {
	case parts[0] == "api" && len(parts) > 2:
		version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		t.group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, unknown
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.plural = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	for _, r := range s.resources {
		if r.Group == t.group && r.Version == version && r.Plural == t.plural {
			t.resource = r
		}
	}
	if t.resource.Plural == "" || len(parts) > 3 || t.subresource != "" && !slices.Contains(t.resource.Subresources, t.subresource) {
		return nil, unknown
	}
	return t, nil
}

func (t *target) serve(r *http.Request, body []byte) (*http.Response, error) {
	switch {
	case r.Method == http.MethodGet && t.name == "":
		q, err := t.selection(r)
		if err != nil {
			return nil, err
		}
		if isTrue(r.URL.Query().Get("watch")) {
			return t.watch(r.Context(), q, r.URL.Query().Get("resourceVersion"))
		}
		return t.list(q), nil
	case r.Method == http.MethodDelete && t.name == "":
		return t.deleteAll(r)
	}
	code, object, err := t.one(r, body)
	if err != nil {
		return nil, err
	}
	q := selection{apiVersion: t.resource.APIVersion()}
	return response(code, q.shown(object)), nil
}

func isTrue(text string) bool { return text == "true" || text == "1" }

// isDryRun reports whether nothing is to be stored.
func isDryRun(r *http.Request) bool {
	text := r.URL.Query().Get("dryRun")
	return isTrue(text) || text == "All"
}

// one serves a request about one object.
func (t *target) one(r *http.Request, body []byte) (code int, object dicts.Object, err error) {
	if r.Method == http.MethodGet {
		if object = t.existing(); object == nil {
			err = failf(http.StatusNotFound, "NotFound", "%s %q not found", t.plural, t.name)
		}
		return http.StatusOK, object, err
	}
	w, err := t.write(r, body)
	if err == nil {
		object, err = t.do(r.Context(), w)
	}
	var failure *Error
	if err != nil && r.Context().Err() == nil && !errors.As(err, &failure) {
		err = failf(http.StatusBadRequest, "BadRequest", "%v", err)
	}
	if err == nil && w.operation == creating {
		return http.StatusCreated, object, nil
	}
	return http.StatusOK, object, err
}

func (t *target) existing() dicts.Object {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.objects[t.key]
}

// write is a request that may change an object.
func (t *target) write(r *http.Request, body []byte) (*write, error) {
	w := &write{operation: updating, resource: t.resource, key: t.key, subresource: t.subresource, user: t.Client, dryRun: isDryRun(r)}
	var err error
	switch r.Method {
	case http.MethodDelete:
		w.operation = deleting
	case http.MethodPost:
		w.operation = creating
		if w.object, err = dicts.DecodeObject(body); err == nil {
			w.key.name = dicts.LookupString(w.object, "metadata", "name")
		}
	case http.MethodPut:
		err = w.put(body)
	case http.MethodPatch:
		err = t.patch(w, r.Header.Get("Content-Type"), body)
	default:
		err = failf(http.StatusMethodNotAllowed, "MethodNotAllowed", "%s is not supported", r.Method)
	}
	return w, err
}

func (w *write) put(body []byte) error {
	wanted, err := dicts.DecodeObject(body)
	w.change = func(o dicts.Object) (dicts.Object, error) { return merged(nil, wanted), sameVersion(o, wanted) }
	return err
}

// sameVersion is the optimistic lock: a version in a request must be the current one.
func sameVersion(object, wanted dicts.Object) error {
	if v := version(wanted); v != "" && v != version(object) {
		return failf(http.StatusConflict, "Conflict", "the object has been modified; please apply your changes to the latest version and try again")
	}
	return nil
}

func (t *target) patch(w *write, contentType string, body []byte) error {
	change, err := dicts.Decode(body)
	if err != nil {
		return err
	}
	if operations, ok := change.([]any); ok {
		w.change = func(o dicts.Object) (dicts.Object, error) { return operated(o, operations) }
		return nil
	}
	wanted, ok := change.(dicts.Object)
	if !ok {
		return failf(http.StatusBadRequest, "BadRequest", "the patch is no object")
	}
	if strings.HasPrefix(contentType, "application/apply-patch") && t.existing() == nil {
		w.operation, w.object = creating, wanted
		return nil
	}
	w.change = func(o dicts.Object) (dicts.Object, error) {
		return merged(o, dicts.CloneObject(wanted)), sameVersion(o, wanted)
	}
	return nil
}

func operated(object dicts.Object, operations []any) (dicts.Object, error) {
	after, err := dicts.JSONPatch(object, operations)
	if err != nil {
		return nil, failf(http.StatusUnprocessableEntity, "Invalid", "%v", err)
	}
	return after, nil
}

func (t *target) selection(r *http.Request) (selection, error) {
	q := selection{group: t.group, plural: t.plural, namespace: t.namespace, apiVersion: t.resource.APIVersion()}
	var err error
	if q.labels, err = labels.Parse(r.URL.Query().Get("labelSelector")); err != nil {
		return q, failf(http.StatusBadRequest, "BadRequest", "labelSelector: %v", err)
	}
	for field := range strings.SplitSeq(r.URL.Query().Get("fieldSelector"), ",") {
		name, value, _ := strings.Cut(strings.Replace(field, "==", "=", 1), "=")
		switch name {
		case "":
		case "metadata.name":
			q.name = value
		case "metadata.namespace":
			q.namespace = value
		default:
			return q, failf(http.StatusBadRequest, "BadRequest", "the field selector %q is not supported", field)
		}
	}
	return q, nil
}

func (t *target) list(q selection) *http.Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	items := []any{}
	for _, k := range t.sorted(t.group, t.plural, q.namespace) {
		if q.fits(k, t.objects[k]) {
			items = append(items, q.shown(t.objects[k]))
		}
	}
	return response(http.StatusOK, dicts.Object{
		"apiVersion": t.resource.APIVersion(), "kind": t.resource.Kind + "List", "metadata": dicts.Object{"resourceVersion": strconv.Itoa(t.version)}, "items": items,
	})
}

func (t *target) deleteAll(r *http.Request) (*http.Response, error) {
	q, err := t.selection(r)
	if err != nil {
		return nil, err
	}
	for _, k := range t.fitting(q) {
		_, err := t.do(r.Context(), &write{operation: deleting, resource: t.resource, key: k, user: t.Client, dryRun: isDryRun(r)})
		var failure *Error
		if err != nil && (!errors.As(err, &failure) || failure.Code != http.StatusNotFound) {
			return nil, err
		}
	}
	return t.list(q), nil
}

// fitting returns the keys of the objects that a request is about.
func (t *target) fitting(q selection) []key {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(t.sorted(t.group, t.plural, q.namespace), func(k key) bool { return !q.fits(k, t.objects[k]) })
}

// watch streams the changes after a version.
func (t *target) watch(ctx context.Context, q selection, from string) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	after, err := strconv.Atoi(from)
	if err != nil {
		after = t.version
	}
	if after < t.dropped {
		return nil, failf(http.StatusGone, "Expired", "the version %s is too old", from)
	}
	t.uids++
	w := newWatcher(q, t.uids)
	for _, c := range t.history {
		if c.version > after {
			w.send(c)
		}
	}
	t.watchers[w] = struct{}{}
	stop := context.AfterFunc(ctx, func() { t.leave(w, ctx.Err()) })
	rsp := response(http.StatusOK, nil)
	rsp.Body, rsp.ContentLength = &stream{w, func() { stop(); t.leave(w, io.ErrClosedPipe) }}, -1
	return rsp, nil
}

func (s *Server) leave(w *watcher, err error) {
	s.mu.Lock()
	delete(s.watchers, w)
	s.mu.Unlock()
	w.end(err)
}

// stream is the body of a watch.
type stream struct {
	*watcher
	close func()
}

// Close implements io.Closer.
func (s *stream) Close() error { s.close(); return nil }
