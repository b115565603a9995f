package kopftest

import (
	"net/url"
	"sort"
	"strconv"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// Requests of handlers are noted in Host.Requests and answered by Host.Answer, if
// it is set and has an answer. Otherwise those to Kubernetes go to a small cluster
// in memory, which begins with Host.Objects, and those to HTTP servers fail.
//
// The cluster knows objects by their paths and nothing of their kinds: it checks no
// schema, and its server-side apply is a merge that owns nothing.

// Answer is an answer to a request of a handler.
type Answer struct {
	Status int // 200 by default
	Header kopf.Header
	Body   any    // a text, bytes, or anything else as JSON
	Code   string // instead of all that: why there is no answer, see kopf.RequestError
}

// Request is a request of a handler as the host gets it.
type Request struct {
	Kubernetes bool // to the API; otherwise to an HTTP server
	Method     string
	Path       string // or the URL
	Header     kopf.Header
	Body       kopf.View // JSON, or a string with the text
}

// respond answers a request.
func (h *Host) respond(call *abi.Call) abi.Answer {
	h.tb.Helper()
	r := Request{call.Target == abi.TargetKubernetes, call.Method, call.Path, call.Headers, kopf.JSON(call.Body)}
	h.Requests = append(h.Requests, r)
	var answer *Answer
	if h.Answer != nil {
		answer = h.Answer(r)
	}
	switch {
	case answer != nil:
	case r.Kubernetes:
		answer = h.cluster().serve(r)
	default:
		answer = &Answer{Code: kopf.RequestUnreachable, Body: "kopftest reaches no servers: set Host.Answer"}
	}
	if answer.Code != "" {
		message, _ := answer.Body.(string)
		return abi.Answer{Error: &abi.Error{Kind: abi.ErrorArbitrary, Type: answer.Code, Message: message}}
	}
	rsp := &abi.Response{Status: answer.Status, Headers: answer.Header}
	if rsp.Status == 0 {
		rsp.Status = 200
	}
	switch body := answer.Body.(type) {
	case nil:
	case []byte:
		rsp.Body = h.encode(kopf.Map{"text": string(body)})
		rsp.Body = kopf.JSON(rsp.Body).Get("text").Raw()
	default:
		rsp.Body = h.encode(kopf.Map{"value": body})
		rsp.Body = kopf.JSON(rsp.Body).Get("value").Raw()
	}
	return abi.Answer{Response: rsp}
}

// Object is an object of the cluster in memory by its path, as in
// "/api/v1/namespaces/default/pods/x"; nothing if there is none.
func (h *Host) Object(path string) kopf.View {
	object := h.cluster().objects[path]
	if object == nil {
		return kopf.View{}
	}
	return kopf.ViewOf(object)
}

// memory is a cluster in memory.
type memory struct {
	objects map[string]kopf.Map // by their paths
	version int
}

// cluster begins with Host.Objects when it is first needed.
func (h *Host) cluster() *memory {
	if h.kubernetes == nil {
		h.kubernetes = &memory{objects: map[string]kopf.Map{}}
		for path, object := range h.Objects {
			h.kubernetes.store(path, kopf.JSON(h.encode(object)).Map())
		}
	}
	return h.kubernetes
}

// store gives an object a new version.
func (m *memory) store(path string, object kopf.Map) *Answer {
	m.version++
	kopf.Nested(object, "metadata")["resourceVersion"] = strconv.Itoa(m.version)
	m.objects[path] = object
	return &Answer{Body: object}
}

func (m *memory) serve(r Request) *Answer {
	path, query, _ := strings.Cut(r.Path, "?")
	d := depth(path)
	isPart := d == 5 || d == 3 && !strings.Contains(path, "/namespaces/")
	if isPart { // a subresource of an object: here, the object itself
		path = path[:strings.LastIndexByte(path, '/')]
	}
	switch {
	case r.Method == "POST" && !isPart:
		return m.create(path, r)
	case r.Method == "GET" && depth(path)%2 == 1:
		return m.list(path, query)
	}
	current := m.objects[path]
	if current == nil && !(r.Method == "PATCH" && isApply(r)) {
		return failed(404, "NotFound", path+" not found")
	}
	switch r.Method {
	case "GET":
		return &Answer{Body: current}
	case "POST": // to a subresource, such as an eviction: it has no effect here
		return &Answer{Status: 201, Body: r.Body}
	case "DELETE":
		delete(m.objects, path)
		return &Answer{Body: current}
	case "PUT":
		if version := r.Body.Get("metadata", "resourceVersion").String(); version != "" && version != kopf.ViewOf(current).Get("metadata", "resourceVersion").String() {
			return failed(409, "Conflict", path+" has been modified")
		}
		return m.store(path, r.Body.Map())
	case "PATCH":
		if !r.Body.IsMap() {
			return failed(415, "UnsupportedMediaType", "kopftest applies no JSON patches: set Host.Answer")
		}
		if current == nil {
			current = kopf.Map{}
		}
		merge(current, r.Body.Map())
		return m.store(path, current)
	}
	return failed(405, "MethodNotAllowed", r.Method)
}

func (m *memory) create(path string, r Request) *Answer {
	object := r.Body.Map()
	meta := kopf.Nested(object, "metadata")
	if prefix := r.Body.Get("metadata", "generateName").String(); meta["name"] == nil && prefix != "" {
		meta["name"] = prefix + strconv.Itoa(m.version+1)
	}
	name, _ := meta["name"].(string)
	switch path += "/" + name; {
	case name == "":
		return failed(422, "Invalid", "the object has no name")
	case m.objects[path] != nil:
		return failed(409, "AlreadyExists", path+" already exists")
	}
	return m.store(path, object)
}

// list lists a collection, as far as a selector of labels selects it.
func (m *memory) list(path, query string) *Answer {
	values, err := url.ParseQuery(query)
	labels := values.Get("labelSelector")
	if err != nil || values.Has("fieldSelector") || strings.ContainsRune(labels, '(') {
		return failed(400, "BadRequest", "kopftest does not know this selector: set Host.Answer")
	}
	var paths []string
	for p := range m.objects {
		if isIn(p, path) && isSelected(m.objects[p], labels) {
			paths = append(paths, p)
		}
	}
	sort.Strings(paths)
	items := []any{}
	for _, p := range paths {
		items = append(items, m.objects[p])
	}
	return &Answer{Body: kopf.Map{"kind": "List", "metadata": kopf.Map{}, "items": items}}
}

// isIn tells whether an object is in a collection: that of its namespace, or that of all namespaces.
func isIn(object, collection string) bool {
	parent := object[:strings.LastIndexByte(object, '/')]
	end := strings.LastIndexByte(collection, '/')
	within, ok := strings.CutPrefix(parent, collection[:end]+"/namespaces/")
	return parent == collection || ok && strings.HasSuffix(within, collection[end:])
}

// isSelected understands app=db, app==db, app!=db, app, and !app.
func isSelected(object kopf.Map, selector string) bool {
	labels := kopf.ViewOf(object).Get("metadata", "labels")
	for _, term := range strings.Split(selector, ",") {
		key, value, compares := strings.Cut(strings.Replace(term, "==", "=", 1), "=")
		name := strings.Trim(key, "! ")
		fits := labels.Has(name) && (!compares || labels.Get(name).String() == strings.TrimSpace(value))
		if name != "" && fits == strings.ContainsRune(key, '!') {
			return false
		}
	}
	return true
}

// depth is the number of segments of a path after that of its version: a collection
// has 1 or 3 of them (with a namespace), an object 2 or 4.
func depth(path string) int {
	segments := len(strings.Split(strings.Trim(path, "/"), "/"))
	if strings.HasPrefix(path, "/apis/") {
		segments--
	}
	return segments - 2
}

func isApply(r Request) bool {
	types := r.Header["Content-Type"]
	return len(types) == 1 && types[0] == "application/apply-patch+yaml"
}

// merge merges a patch (RFC 7386).
func merge(into, patch kopf.Map) {
	for key, value := range patch {
		inner, isMap := value.(kopf.Map)
		switch {
		case value == nil:
			delete(into, key)
		case isMap:
			target, ok := into[key].(kopf.Map)
			if !ok {
				target = kopf.Map{}
				into[key] = target
			}
			merge(target, inner)
		default:
			into[key] = value
		}
	}
}

func failed(code int, reason, message string) *Answer {
	return &Answer{Status: code, Body: kopf.Map{"kind": "Status", "code": code, "reason": reason, "message": message}}
}
