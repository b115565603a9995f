package kopf

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
)

// API is a client for one resource of Kubernetes: it makes requests as the
// operator, within what is granted to it (see Want), and waits for the answers;
// other tasks continue meanwhile. It is a value: change its fields to reach other
// namespaces.
//
//	claims := c.API("v1", "persistentvolumeclaims")
//	claim, err := claims.Get("data")
//
// Objects are given as maps, structs, or views, and come back as views; use Decode
// to make types of your own of them. Errors are APIError for answers of the API, and
// RequestError where there is none.
type API struct {
	Version   string // of the API with its group: v1, apps/v1
	Plural    string // of the resource: pods
	Namespace string // that of the handled object by default; "" for resources without one, and to list all

	Subresource string // status, scale; none by default

	// Manager owns the fields that are applied: the name of the operator, or "kopf".
	Manager string

	task  *guest.Task
	limit func() (time.Duration, error) // of each request: of the context; nil: none
}

// NewAPI is Call.API for functions that get the context of a handler, or one that is derived from
// it. The deadline of the context limits each request. Errors of the requests: that of the context
// if it is over; a RequestError if the context is not that of a handler.
func NewAPI(ctx context.Context, version, plural string) API {
	t := guest.FromContext(ctx)
	limit := func() (time.Duration, error) {
		_, err := taskOf(ctx)
		left, ok := left(ctx)
		if err != nil || !ok {
			return 0, err
		}
		return left, nil
	}
	if t == nil {
		return API{Version: version, Plural: plural, limit: limit}
	}
	a := newAPI(t, version, plural)
	a.limit = limit
	return a
}

// API is a client for a resource, by its version and plural: in the namespace of
// the handled object, if it has one.
func (c *Call) API(version, plural string) API { return newAPI(c.task, version, plural) }

func newAPI(t *guest.Task, version, plural string) API {
	manager := guest.Default.Operator.Name
	if manager == "" {
		manager = "kopf"
	}
	return API{Version: version, Plural: plural, Namespace: t.Call.Namespace, Manager: manager, task: t}
}

// Get reads an object.
func (a API) Get(name string) (View, error) { return a.named("GET", name, "", nil, "") }

// Text reads what is a text instead of an object, such as the log of a pod. The query has the parameters of the API.
//
//	pods := c.API("v1", "pods")
//	pods.Subresource = "log"
//	log, err := pods.Text("web-0", "container=main&tailLines=100")
func (a API) Text(name, query string) (string, error) {
	if name == "" {
		return "", a.nameless("GET")
	}
	rsp, err := a.exchange("GET", name, query, nil, "")
	if err != nil {
		return "", err
	}
	return string(rsp.Body), nil
}

// ListOptions narrow a listing. The zero value lists everything.
type ListOptions struct {
	Labels string // a selector: app=db,tier!=test
	Fields string // a selector of the fields that the API can select by: metadata.name=x
	Page   int    // objects for each request; 100 by default
}

// List lists objects, page by page, as they are asked for. An error ends the list.
//
//	for pod, err := range c.API("v1", "pods").List(kopf.ListOptions{Labels: "app=db"}) {
func (a API) List(o ListOptions) iter.Seq2[View, error] {
	if o.Page <= 0 {
		o.Page = 100
	}
	query := "limit=" + strconv.Itoa(o.Page) + parameter("labelSelector", o.Labels) + parameter("fieldSelector", o.Fields)
	return func(yield func(View, error) bool) {
		for next := ""; ; {
			page, err := a.send("GET", "", query+parameter("continue", next), nil, "")
			if err != nil {
				yield(View{}, err)
				return
			}
			for _, object := range page.Get("items").Items() {
				if !yield(object, nil) {
					return
				}
			}
			if next = page.Get("metadata", "continue").String(); next == "" {
				return
			}
		}
	}
}

// Create creates an object and returns the created object. Its apiVersion and kind
// must be set. If its name is taken, the error is ErrAlreadyExists.
//
// With a Subresource such as eviction, it is for the existing object that the name says.
func (a API) Create(object any) (View, error) {
	if a.Subresource == "" {
		return a.send("POST", "", "", object, "")
	}
	return a.itself("POST", "", object, "")
}

// Update replaces an object. If it has a resourceVersion that is not the newest
// one, the error is ErrConflict.
func (a API) Update(object any) (View, error) { return a.itself("PUT", "", object, "") }

// Apply creates an object, or changes the given fields if no other manager owns them:
// server-side apply. The fields that it has are owned by API.Manager then; fields
// of earlier calls that it has no more are removed. Fields that are owned by others are an
// ErrConflict, unless they are to be taken over with force.
//
// See https://kubernetes.io/docs/reference/using-api/server-side-apply/
func (a API) Apply(object any, force ...Force) (View, error) {
	query := "fieldManager=" + escaped(a.Manager)
	if len(force) > 0 {
		query += "&force=true"
	}
	return a.itself("PATCH", query, object, "application/apply-patch+yaml")
}

// Force makes Apply take over fields that are owned by others.
type Force struct{}

// Patch merges a patch into an object (RFC 7386).
func (a API) Patch(name string, patch any) (View, error) {
	return a.named("PATCH", name, "", patch, "application/merge-patch+json")
}

// PatchJSON edits an object with a list of operations (RFC 6902).
func (a API) PatchJSON(name string, operations any) (View, error) {
	return a.named("PATCH", name, "", operations, "application/json-patch+json")
}

// DeleteOptions say how an object is deleted. The zero value leaves it to the API.
type DeleteOptions struct {
	Propagation     string // of children: Background, Foreground, Orphan
	UID             string // the object must have it, or else the error is ErrConflict
	ResourceVersion string // likewise
	GraceSeconds    *int   // until the object is gone
}

// Delete deletes an object. It may be there for a while, with finalizers.
func (a API) Delete(name string, options ...DeleteOptions) error {
	var body any
	if len(options) > 0 {
		o := options[0]
		m := Map{"apiVersion": "v1", "kind": "DeleteOptions"}
		if o.Propagation != "" {
			m["propagationPolicy"] = o.Propagation
		}
		if o.GraceSeconds != nil {
			m["gracePeriodSeconds"] = *o.GraceSeconds
		}
		if o.UID != "" {
			Nested(m, "preconditions")["uid"] = o.UID
		}
		if o.ResourceVersion != "" {
			Nested(m, "preconditions")["resourceVersion"] = o.ResourceVersion
		}
		body = m
	}
	_, err := a.named("DELETE", name, "", body, "")
	return err
}

// itself sends an object to the path that its name says.
func (a API) itself(method, query string, object any, contentType string) (View, error) {
	text, err := Encode(object)
	if err != nil {
		return View{}, err
	}
	name := JSON(text).Get("metadata", "name").String()
	return a.named(method, name, query, Raw(text), contentType)
}

// named refuses to reach a whole collection where an object is meant.
func (a API) named(method, name, query string, body any, contentType string) (View, error) {
	if name == "" {
		return View{}, a.nameless(method)
	}
	return a.send(method, name, query, body, contentType)
}

func (a API) nameless(method string) error {
	return &RequestError{Code: RequestInvalid, Message: method + " of " + a.Plural + ": the object has no name", kind: abi.ErrorPermanent}
}

// send makes a request and returns the object or the list in the answer.
func (a API) send(method, name, query string, body any, contentType string) (View, error) {
	rsp, err := a.exchange(method, name, query, body, contentType)
	if err != nil {
		return View{}, err
	}
	return rsp.JSON(), nil
}

// exchange makes a request. A status that is an error is an APIError.
func (a API) exchange(method, name, query string, body any, contentType string) (*Response, error) {
	call := &abi.Call{Target: abi.TargetKubernetes, Method: method, Path: a.path(name)}
	if query != "" {
		call.Path += "?" + query
	}
	if body != nil {
		text, err := Encode(body)
		if err != nil {
			return nil, err
		}
		call.Body = text
		if contentType != "" {
			call.Headers = Header{"Content-Type": {contentType}}
		}
	}
	if a.limit != nil {
		timeout, err := a.limit()
		if err != nil {
			return nil, err
		}
		if timeout > 0 {
			call.Timeout = secondsOf(timeout)
		}
	}
	rsp, err := request(a.task, call)
	if err != nil {
		return nil, err
	}
	if rsp.Status >= 300 {
		return nil, newAPIError(rsp)
	}
	return rsp, nil
}

func (a API) path(name string) string {
	root := "/apis/"
	if !strings.Contains(a.Version, "/") {
		root = "/api/"
	}
	path := root + a.Version
	if a.Namespace != "" {
		path += "/namespaces/" + escaped(a.Namespace)
	}
	path += "/" + a.Plural
	if name != "" {
		path += "/" + escaped(name)
		if a.Subresource != "" {
			path += "/" + a.Subresource
		}
	}
	return path
}

// parameter is a further parameter of a query; nothing if it has no value.
func parameter(key, value string) string {
	if value == "" {
		return ""
	}
	return "&" + key + "=" + escaped(value)
}

// escaped is a text in a URL: in a query or a path. Package net/url would bring fmt along.
func escaped(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~', c == ':':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
