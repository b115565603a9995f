// Package apiserver is a small API server in memory, for operators on a simulated clock. It
// keeps objects, versions, finalizers, owners and watches as the real one does. It has no
// schemas, no defaults and no rights.
package apiserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver/admission"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Server holds the objects of a cluster. It is safe for concurrent use. All of its goroutines
// must be in one bubble of testing/synctest, if any is.
type Server struct {
	// Seen is called with each request that is no reading, after it was answered. Nil: nothing
	// is called.
	Seen func(w Write)

	// Webhooks are asked before objects are stored. Nil: there are none.
	Webhooks *admission.Webhooks

	// Client is the userInfo of requests over HTTP, for webhooks. Nil: unknown.
	Client dicts.Object

	resources []selectors.Resource

	mu       sync.Mutex // guards the fields below
	version  int
	uids     int
	objects  map[key]dicts.Object
	history  []change
	dropped  int // the last version that is not in the history
	watchers map[*watcher]struct{}
}

// Write is a request that may change objects.
type Write struct {
	Method, Path string
	Guest        bool // of a guest, not of the operator itself
	Body         any
	Status       int
}

// key identifies an object in all versions of its resource.
type key struct{ group, plural, namespace, name string }

// change is an event of watches.
type change struct {
	version int
	kind    string // ADDED, MODIFIED, DELETED
	key     key
	object  dicts.Object // never changed
}

// Resource is one resource of the API in one version.
type Resource = selectors.Resource

// New makes a server with the usual built-in resources and others.
func New(others []selectors.Resource) *Server {
	s := &Server{resources: slices.Concat(builtin, others), version: 1000, objects: map[key]dicts.Object{}, watchers: map[*watcher]struct{}{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ensureNamespace("default")
	return s
}

// Error is an error of the API, with its HTTP status.
type Error struct {
	Code            int
	Reason, Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func failf(code int, reason, format string, args ...any) *Error {
	return &Error{code, reason, fmt.Sprintf(format, args...)}
}

// Has reports whether there is a resource for objects of a kind.
func (s *Server) Has(apiVersion, kind string) bool {
	_, ok := s.byKind(apiVersion, kind)
	return ok
}

func (s *Server) byKind(apiVersion, kind string) (selectors.Resource, bool) {
	for _, r := range s.resources {
		if r.APIVersion() == apiVersion && r.Kind == kind {
			return r, true
		}
	}
	return selectors.Resource{}, false
}

// Find returns the resource that a word means: a kind, a plural, a singular or a short name.
func (s *Server) Find(word string) (selectors.Resource, bool) {
	for _, r := range s.resources {
		if strings.EqualFold(r.Kind, word) || r.Plural == word || r.Singular == word || slices.Contains(r.Shortcuts, word) {
			return r, true
		}
	}
	return selectors.Resource{}, false
}

// Kinds returns the names of all kinds.
func (s *Server) Kinds() []string {
	var all []string
	for _, r := range s.resources {
		all = append(all, r.Kind)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

var errKind = errors.New("the cluster has no resource for it")

// keyOf returns the resource and the key of an object.
func (s *Server) keyOf(object dicts.Object) (selectors.Resource, key, error) {
	apiVersion, kind := dicts.LookupString(object, "apiVersion"), dicts.LookupString(object, "kind")
	r, ok := s.byKind(apiVersion, kind)
	if !ok {
		return r, key{}, fmt.Errorf("%s %s: %w", apiVersion, kind, errKind)
	}
	return r, keyFor(r, dicts.LookupString(object, "metadata", "namespace"), dicts.LookupString(object, "metadata", "name")), nil
}

// keyFor returns the key of an object of a resource. Without a namespace, it is in the default one.
func keyFor(r selectors.Resource, namespace, name string) key {
	switch {
	case !r.Namespaced:
		namespace = ""
	case namespace == "":
		namespace = "default"
	}
	return key{r.Group, r.Plural, namespace, name}
}

// Reference names an object.
type Reference struct{ Kind, Namespace, Name string }

// Get returns an object; nil if it does not exist.
func (s *Server) Get(ref Reference) dicts.Object {
	k, ok := s.refKey(ref)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return dicts.CloneObject(s.objects[k])
}

func (s *Server) refKey(ref Reference) (key, bool) {
	r, ok := s.Find(ref.Kind)
	return keyFor(r, ref.Namespace, ref.Name), ok
}

// Names lists the objects of a kind, as NAMESPACE/NAME.
func (s *Server) Names(kind string) []string {
	r, _ := s.Find(kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, k := range s.sorted(r.Group, r.Plural, "") {
		names = append(names, strings.TrimPrefix(k.namespace+"/"+k.name, "/"))
	}
	return names
}

// Send sends a watch event to all watches, and changes no object.
func (s *Server) Send(kind string, object dicts.Object) error {
	_, k, err := s.keyOf(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.notify(change{s.version, kind, k, s.identified(k, object)})
	return nil
}

// identified returns an object with the identity of the existing one.
func (s *Server) identified(k key, object dicts.Object) dicts.Object {
	sent := merged(dicts.CloneObject(s.objects[k]), dicts.CloneObject(object))
	metadata := metadataOf(sent)
	metadata["resourceVersion"] = strconv.Itoa(s.version)
	if k.namespace != "" {
		metadata["namespace"] = k.namespace
	}
	return sent
}

// Disconnect ends all watches, as a restart of the server does.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w.end(nil)
	}
	clear(s.watchers)
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// merged returns an object after a merge patch. It may share values with both.
func merged(object, patch dicts.Object) dicts.Object {
	return dicts.MergePatch(object, patch).(dicts.Object) // a patch that is an object gives an object
}

func metadataOf(object dicts.Object) dicts.Object {
	metadata, ok := object["metadata"].(dicts.Object)
	if !ok {
		metadata = dicts.Object{}
		object["metadata"] = metadata
	}
	return metadata
}

func (s *Server) ensureNamespace(name string) {
	k := key{"", "namespaces", "", name}
	if name == "" || s.objects[k] != nil {
		return
	}
	r, _ := s.byKind("v1", "Namespace")
	object := dicts.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": dicts.Object{"name": name}, "status": dicts.Object{"phase": "Active"}}
	w := &write{operation: creating, resource: r, key: k, subresource: everything, object: object}
	_ = s.beginCreation(w) // it does not exist yet
	w.complete()
	s.commit(w)
}

func hasStatus(r selectors.Resource) bool { return slices.Contains(r.Subresources, "status") }

// store keeps a new state of an object, and notifies the watches.
func (s *Server) store(kind string, k key, object dicts.Object) {
	s.version++
	metadataOf(object)["resourceVersion"] = strconv.Itoa(s.version)
	if kind == "DELETED" {
		delete(s.objects, k)
	} else {
		s.objects[k] = object
	}
	s.notify(change{s.version, kind, k, object})
	if kind == "DELETED" {
		s.collect(dicts.LookupString(object, "metadata", "uid"))
	}
}

// maxHistory bounds what a watch can continue from.
const maxHistory = 10_000

func (s *Server) notify(c change) {
	if s.history = append(s.history, c); len(s.history) > 2*maxHistory {
		s.dropped = s.history[maxHistory-1].version
		s.history = slices.Clone(s.history[maxHistory:])
	}
	for _, w := range s.ordered() {
		w.send(c)
	}
}

// ordered are the watches in their order, so that repeated simulations are equal.
func (s *Server) ordered() []*watcher {
	return slices.SortedFunc(maps.Keys(s.watchers), func(a, b *watcher) int { return cmp.Compare(a.number, b.number) })
}

// collect deletes the objects whose last owner has gone.
func (s *Server) collect(uid string) {
	for _, k := range s.sorted("", "*", "") {
		object := s.objects[k]
		owners, _ := dicts.Lookup(object, "metadata", "ownerReferences")
		list, _ := owners.([]any)
		owned := slices.ContainsFunc(list, func(o any) bool { return dicts.LookupString(o, "uid") == uid })
		if owned && len(list) == 1 {
			s.remove(k)
		}
	}
}

// protect restores what a client cannot change.
func protect(before, after dicts.Object, r selectors.Resource, subresource string) {
	for _, name := range []string{"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "generation", "resourceVersion"} {
		if value, ok := metadataOf(before)[name]; ok {
			metadataOf(after)[name] = value
		} else {
			delete(metadataOf(after), name)
		}
	}
	after["apiVersion"], after["kind"] = before["apiVersion"], before["kind"]
	switch {
	case subresource == "status":
		status, ok := after["status"]
		clear(after)
		maps.Copy(after, dicts.CloneObject(before))
		if delete(after, "status"); ok && status != nil {
			after["status"] = status
		}
	case subresource == "" && hasStatus(r):
		if delete(after, "status"); before["status"] != nil {
			after["status"] = before["status"]
		}
	}
}

// content is what the generation counts.
func content(object dicts.Object) dicts.Object {
	rest := maps.Clone(object)
	delete(rest, "metadata")
	delete(rest, "status")
	return rest
}

func generation(object dicts.Object) int64 {
	value, _ := dicts.Lookup(object, "metadata", "generation")
	n, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func finalizers(object dicts.Object) []any {
	value, _ := dicts.Lookup(object, "metadata", "finalizers")
	list, _ := value.([]any)
	return list
}

// sorted are the keys of the objects of a resource in a namespace; * and empty: of all.
func (s *Server) sorted(group, plural, namespace string) []key {
	var keys []key
	for k := range s.objects {
		if (plural == "*" || k.group == group && k.plural == plural) && (namespace == "" || k.namespace == namespace) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.plural, b.plural), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	return keys
}
