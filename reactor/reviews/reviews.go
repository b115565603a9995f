// Package reviews holds what passes between handlers and the admission and conversion
// requests of the API server: the requests, and the verdicts of the handlers. It is pure;
// the server is in package webhooks.
//
// Kopf: kopf._cogs.structs.reviews (v1.45).
package reviews

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/patches"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Resource is the resource of a request, as the API server names it.
type Resource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// String formats the resource as Kopf's messages do. It truncates names that are longer
// than any valid name.
func (r Resource) String() string {
	return fmt.Sprintf("{'group': '%.253s', 'version': '%.253s', 'resource': '%.253s'}", r.Group, r.Version, r.Resource)
}

// Request is one admission review: the API server asks whether an operation on an
// object is allowed. Raw values are nil if they are absent or null.
//
// See https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#request
type Request struct {
	APIVersion string // apiVersion of the review: admission.k8s.io/v1, or v1beta1
	Kind       string // kind of the review: AdmissionReview

	UID         string
	Resource    Resource
	Subresource string
	Namespace   string // of the object; empty if it is cluster-scoped
	Operation   string // CREATE, UPDATE, DELETE, CONNECT
	DryRun      bool
	UserInfo    json.RawMessage
	Object      json.RawMessage // the object after the operation
	OldObject   json.RawMessage // the object before the operation
}

// Body returns the object of the request: the new object, or the object that is being
// deleted.
func (r *Request) Body() json.RawMessage {
	if r.Object != nil {
		return r.Object
	}
	return r.OldObject
}

// Incoming is a request with what the server knows about its sender.
type Incoming struct {
	*Request
	Webhook string              // the id of the requested handler
	Headers map[string][]string // headers of the HTTP request
	SSLPeer abi.Raw             // the client's certificate; nil: none
}

// Verdict is the decision of the handlers on a request. Without failures, the request is
// allowed.
type Verdict struct {
	Failures []*abi.Error
	Warnings []string
	Patch    []patches.Operation
}

// Handler is a handler that the API server calls, with the resources of the cluster that
// it is for.
type Handler struct {
	ID        string
	Spec      abi.Handler
	Resources []selectors.Resource
}

// Error is the error for an invalid request. The sender of the request is at fault, not
// the object.
type Error struct {
	Code    int // HTTP status
	Message string
}

// These are HTTP statuses.
const (
	statusBadRequest = 400
	statusNotFound   = 404
)

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func badRequest(format string, args ...any) error {
	return &Error{statusBadRequest, fmt.Sprintf(format, args...)}
}

// ErrNotObject means that a review is JSON, but not an object.
var ErrNotObject = errors.New("the review is not an object")

// UnknownResource is the error for resources without handlers.
func UnknownResource(r Resource) error {
	return &Error{statusNotFound, fmt.Sprintf("The specified resource has no handlers: %s", r)}
}

// Decode decodes a review. As in Kopf, the caller checks whether its resource has handlers
// before it calls Check. The objects are slices of the data, which must not be changed
// afterwards.
//
// Errors: ErrNotObject, or an Error that says what is wrong with it.
func Decode(data []byte) (*Request, error) {
	w, ok := fast(data)
	if !ok {
		w = wire{}
		if err := decodeObject(data, &w); err != nil {
			return nil, err
		}
	}
	switch group, version, _ := strings.Cut(w.APIVersion, "/"); {
	case w.Kind != "" && w.Kind != "AdmissionReview":
		return nil, badRequest("The kind of the review is %.200q, not AdmissionReview.", w.Kind)
	case w.APIVersion != "" && (group != "admission.k8s.io" || version != "v1" && version != "v1beta1"):
		return nil, badRequest("The version of the review is %.200q, neither admission.k8s.io/v1 nor v1beta1.", w.APIVersion)
	case w.Request == nil:
		return nil, badRequest("The request is missing from the review.")
	case w.Request.Resource == nil:
		return nil, badRequest("The resource is missing from the admission request.")
	}
	r := w.Request
	return &Request{
		APIVersion: w.APIVersion, Kind: w.Kind, UID: r.UID, Resource: *r.Resource, Subresource: r.SubResource, Namespace: textOf(r.Namespace),
		Operation: r.Operation, DryRun: r.DryRun, UserInfo: unlessNull(r.UserInfo), Object: unlessNull(r.Object), OldObject: unlessNull(r.OldObject),
	}, nil
}

// Check rejects requests without a user or without an object.
func (r *Request) Check() error {
	switch {
	case r.UserInfo == nil:
		return badRequest("User info is missing from the admission request.")
	case r.Body() == nil:
		return badRequest("Either old or new object is missing from the admission request.")
	}
	return cmp.Or(checkObject("object", r.Object), checkObject("oldObject", r.OldObject), checkObject("userInfo", r.UserInfo))
}

func checkObject(name string, object json.RawMessage) error {
	if object != nil && object[0] != '{' {
		return badRequest("The field %s of the admission request is not an object.", name)
	}
	return nil
}

// textOf returns a text; empty for other values.
func textOf(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	return dicts.Text(raw)
}

func unlessNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
