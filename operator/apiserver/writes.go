package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver/admission"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Operations of requests, as webhooks know them.
const (
	creating = "CREATE"
	updating = "UPDATE"
	deleting = "DELETE"
)

// everything is the subresource of requests that may change all of an object, also its status.
const everything = "*"

// write is a request to create, change or delete one object.
type write struct {
	operation   string
	resource    selectors.Resource
	key         key
	subresource string
	user        dicts.Object // userInfo of the sender
	dryRun      bool

	object dicts.Object                                    // to be created
	change func(object dicts.Object) (dicts.Object, error) // of an object that exists

	before, after dicts.Object // set by begin
	uid           int          // of a new object; set by begin
	warnings      []string     // of webhooks
}

// maxAttempts bounds the attempts of a request whose object changes while webhooks are asked.
const maxAttempts = 5

// do does a request, and asks the webhooks before. The caller must not hold the lock: webhooks
// send requests of their own.
//
// Errors: *Error, and those of the context.
func (s *Server) do(ctx context.Context, w *write) (dicts.Object, error) {
	if !s.Webhooks.Any() {
		return s.doUnreviewed(w)
	}
	for range maxAttempts {
		done, err := s.attempt(ctx, w)
		if done != nil || err != nil {
			return done, err
		}
	}
	return nil, failf(http.StatusConflict, "Conflict", "%s %q: gave up after %d attempts: it changes while webhooks are asked", w.resource.Plural, w.key.name, maxAttempts)
}

// doUnreviewed does a request without webhooks.
func (s *Server) doUnreviewed(w *write) (dicts.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.dryRun {
		defer s.rollback()()
	}
	if err := s.begin(w); err != nil {
		return nil, err
	}
	w.complete()
	return s.commit(w), nil
}

// attempt does a request with webhooks. The result is nil if the object has changed meanwhile.
func (s *Server) attempt(ctx context.Context, w *write) (dicts.Object, error) {
	if err := s.beginLocked(w); err != nil {
		return nil, err
	}
	review := &admission.Request{
		Operation: w.operation, Resource: w.resource, Namespace: w.key.namespace, Name: w.key.name, User: w.user, DryRun: w.dryRun, Old: w.before, New: w.after,
	}
	if w.subresource != everything {
		review.Subresource = w.subresource
	}
	err := s.Webhooks.Mutate(ctx, review)
	if err == nil {
		w.after = review.New
		w.complete()
		review.New = w.after
		err = s.Webhooks.Validate(ctx, review)
	}
	w.warnings = review.Warnings
	var denied *admission.Denied
	if errors.As(err, &denied) {
		return nil, &Error{denied.Code, denied.Reason, denied.Message}
	}
	if err != nil {
		return nil, err
	}
	return s.commitUnchanged(w), nil
}

func (s *Server) beginLocked(w *write) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.dryRun {
		defer s.rollback()()
	}
	return s.begin(w)
}

// commitUnchanged stores the new state, if the object has not changed since the beginning of the request.
func (s *Server) commitUnchanged(w *write) dicts.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version(s.objects[w.key]) != version(w.before) {
		return nil
	}
	if w.dryRun {
		defer s.rollback()()
	}
	return s.commit(w)
}

func version(object dicts.Object) string {
	return dicts.LookupString(object, "metadata", "resourceVersion")
}

// begin checks a request, and sets what the sender wants. The caller holds the lock.
func (s *Server) begin(w *write) error {
	if w.operation == creating {
		return s.beginCreation(w)
	}
	w.before, w.after = s.objects[w.key], nil
	if w.before == nil {
		return failf(http.StatusNotFound, "NotFound", "%s %q not found", w.resource.Plural, w.key.name)
	}
	if w.operation == deleting {
		return nil
	}
	after, err := w.change(dicts.CloneObject(w.before))
	if err != nil {
		return err
	}
	protect(w.before, after, w.resource, w.subresource)
	w.after = after
	return nil
}

func (s *Server) beginCreation(w *write) error {
	w.before, w.after = nil, dicts.CloneObject(w.object)
	s.uids++
	if w.key.name == "" {
		prefix := dicts.LookupString(w.after, "metadata", "generateName")
		if prefix == "" {
			return failf(http.StatusUnprocessableEntity, "Invalid", "%s: metadata.name is required", w.resource.Kind)
		}
		w.key.name = fmt.Sprintf("%s%05d", prefix, s.uids)
	}
	if s.objects[w.key] != nil {
		return failf(http.StatusConflict, "AlreadyExists", "%s %q already exists", w.resource.Plural, w.key.name)
	}
	s.ensureNamespace(w.key.namespace)
	w.uid = s.uids
	w.identify()
	return nil
}

// identify sets what the server decides about a new object, whatever the sender or a webhook says.
func (w *write) identify() {
	metadata := metadataOf(w.after)
	metadata["name"] = w.key.name
	if w.key.namespace != "" {
		metadata["namespace"] = w.key.namespace
	}
	w.after["apiVersion"], w.after["kind"] = w.resource.APIVersion(), w.resource.Kind
	if w.subresource != everything && hasStatus(w.resource) {
		delete(w.after, "status")
	}
}

// complete sets what the server adds to the wanted object.
func (w *write) complete() {
	switch w.operation {
	case creating:
		w.identify()
		metadata := metadataOf(w.after)
		metadata["uid"] = cmp.Or(dicts.LookupString(w.after, "metadata", "uid"), fmt.Sprintf("00000000-0000-4000-8000-%012d", w.uid))
		metadata["creationTimestamp"] = cmp.Or(dicts.LookupString(w.after, "metadata", "creationTimestamp"), time.Now().UTC().Format(time.RFC3339))
		metadata["generation"] = number(1)
	case updating:
		protect(w.before, w.after, w.resource, w.subresource)
		if !dicts.Equal(content(w.before), content(w.after)) {
			metadataOf(w.after)["generation"] = number(int(generation(w.before)) + 1)
		}
	}
}

// commit stores the new state of the object, and returns it. The caller holds the lock.
func (s *Server) commit(w *write) dicts.Object {
	switch {
	case w.operation == creating:
		s.store("ADDED", w.key, w.after)
	case w.operation == deleting:
		return s.remove(w.key)
	case dicts.Equal(w.before, w.after):
		return w.before
	case metadataOf(w.after)["deletionTimestamp"] != nil && len(finalizers(w.after)) == 0:
		s.store("DELETED", w.key, w.after)
	default:
		s.store("MODIFIED", w.key, w.after)
	}
	return w.after
}

// remove marks an object with finalizers as being deleted, and removes any other one. The object
// exists. The caller holds the lock.
func (s *Server) remove(k key) dicts.Object {
	before := s.objects[k]
	after := dicts.CloneObject(before)
	if len(finalizers(before)) == 0 {
		s.store("DELETED", k, after)
		return after
	}
	metadata := metadataOf(after)
	if metadata["deletionTimestamp"] != nil {
		return before
	}
	metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = time.Now().UTC().Format(time.RFC3339), number(0)
	s.store("MODIFIED", k, after)
	return after
}

// rollback returns a function that restores the present state.
func (s *Server) rollback() func() {
	objects, history, version, watchers := maps.Clone(s.objects), len(s.history), s.version, s.watchers
	s.watchers = nil
	return func() { s.objects, s.history, s.version, s.watchers = objects, s.history[:history], version, watchers }
}
