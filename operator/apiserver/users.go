package apiserver

import (
	"context"
	"net/http"
	"slices"

	"github.com/kopf-wasm/kopf/internal/dicts"
)

// User is how a user of the cluster sends requests.
type User struct {
	Info        dicts.Object // userInfo; nil: that of an administrator
	DryRun      bool         // webhooks are asked, and nothing is stored
	Subresource string       // empty: the object itself
}

// Answer is the answer to a request of a user.
type Answer struct {
	Object   dicts.Object // the stored state, or in a dry run the state that would be stored
	Warnings []string     // of webhooks
}

// administrator is the userInfo of users, unless they have another one.
var administrator = dicts.Object{"username": "kubernetes-admin", "groups": []any{"system:masters", "system:authenticated"}}

// Apply creates an object as an administrator, or merges it into the existing one. Unlike clients,
// it may also set the status.
//
// Errors: *Error, those of the context, and kinds without a resource.
func (s *Server) Apply(ctx context.Context, object dicts.Object) error {
	_, err := s.ApplyAs(ctx, object, User{})
	return err
}

// ApplyAs is as Apply, for any user. With a subresource, only this part of the object changes.
// The warnings are valid with an error, too.
func (s *Server) ApplyAs(ctx context.Context, object dicts.Object, u User) (*Answer, error) {
	r, k, err := s.keyOf(object)
	if err != nil {
		return &Answer{}, err
	}
	w := &write{operation: creating, resource: r, key: k, object: object}
	if u.Subresource != "" || s.exists(k) {
		w.operation = updating
		w.change = func(o dicts.Object) (dicts.Object, error) { return merged(o, dicts.CloneObject(object)), nil }
	}
	return s.as(ctx, w, u)
}

// Delete deletes an object as an administrator does: its finalizers may keep it.
//
// Errors: *Error, and those of the context.
func (s *Server) Delete(ctx context.Context, ref Reference) error {
	_, err := s.DeleteAs(ctx, ref, User{})
	return err
}

// DeleteAs is as Delete, for any user.
func (s *Server) DeleteAs(ctx context.Context, ref Reference, u User) (*Answer, error) {
	k, _ := s.refKey(ref)
	r, _ := s.Find(ref.Kind)
	return s.as(ctx, &write{operation: deleting, resource: r, key: k}, u)
}

func (s *Server) exists(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[k] != nil
}

func (s *Server) as(ctx context.Context, w *write, u User) (*Answer, error) {
	w.user, w.dryRun, w.subresource = u.Info, u.DryRun, u.Subresource
	if w.user == nil {
		w.user = administrator
	}
	switch {
	case u.Subresource == "":
		w.subresource = everything
	case !slices.Contains(w.resource.Subresources, u.Subresource):
		return &Answer{}, failf(http.StatusNotFound, "NotFound", "%s have no subresource %q: name the file with their definition in definitions", w.resource.Plural, u.Subresource)
	}
	object, err := s.do(ctx, w)
	return &Answer{Object: dicts.CloneObject(object), Warnings: w.warnings}, err
}
