// Package admission asks webhooks about requests to a small API server, as the real one does
// before it stores an object: mutating webhooks first, one after the other, then validating ones.
//
// See https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
package admission

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Request is a request to create, change or delete one object.
type Request struct {
	Operation   string // CREATE, UPDATE or DELETE
	Resource    selectors.Resource
	Subresource string // empty: the object itself
	Namespace   string // empty for cluster-scoped objects
	Name        string
	User        dicts.Object // userInfo of the sender
	DryRun      bool
	Old, New    dicts.Object // before and after the request; nil: none

	Warnings []string // of the webhooks that were asked so far
}

// Denied is the error of requests that a webhook refuses, or that need a webhook that does not
// answer.
type Denied struct {
	Code    int // HTTP status
	Reason  string
	Message string
}

// Error returns the message.
func (e *Denied) Error() string { return e.Message }

// Post sends a review to the URL of a webhook, and returns the HTTP status and the body of the
// response.
type Post func(ctx context.Context, url string, review []byte) (status int, body []byte, err error)

// Webhooks are the webhooks of a cluster. It is safe for concurrent use.
type Webhooks struct {
	post Post

	mu         sync.Mutex // guards the fields below
	mutating   []webhook
	validating []webhook
}

// New makes a cluster without webhooks. Reviews are sent by the function.
func New(post Post) *Webhooks { return &Webhooks{post: post} }

// SetMutating replaces the mutating webhooks by those of a configuration in JSON, {"webhooks": […]}.
func (w *Webhooks) SetMutating(configuration []byte) error {
	return w.set(&w.mutating, configuration)
}

// SetValidating is as SetMutating, for validating webhooks.
func (w *Webhooks) SetValidating(configuration []byte) error {
	return w.set(&w.validating, configuration)
}

func (w *Webhooks) set(list *[]webhook, configuration []byte) error {
	var c struct {
		Webhooks []webhook `json:"webhooks"`
	}
	if err := json.Unmarshal(configuration, &c); err != nil {
		return fmt.Errorf("the webhook configuration: %w", err)
	}
	for i := range c.Webhooks {
		if err := c.Webhooks[i].prepare(); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = c.Webhooks
	return nil
}

func (w *Webhooks) present(list *[]webhook) []webhook {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *list
}

// Any reports whether there are webhooks at all.
func (w *Webhooks) Any() bool {
	return w != nil && len(w.present(&w.mutating))+len(w.present(&w.validating)) > 0
}

// Mutate asks the mutating webhooks, and changes the new object as they say.
//
// Errors: Denied, and those of the context.
func (w *Webhooks) Mutate(ctx context.Context, r *Request) error {
	for _, hook := range w.present(&w.mutating) {
		answer, err := w.ask(ctx, &hook, r)
		if err != nil {
			return err
		}
		if r.New, err = answer.patched(r.New); err != nil {
			return failed(&hook, err)
		}
	}
	return nil
}

// Validate asks the validating webhooks. All of them are asked; the first refusal is the error.
//
// Errors: Denied, and those of the context.
func (w *Webhooks) Validate(ctx context.Context, r *Request) error {
	var first error
	for _, hook := range w.present(&w.validating) {
		if _, err := w.ask(ctx, &hook, r); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// ask sends a review to a webhook, if it is for the request. The answer of other webhooks is empty.
func (w *Webhooks) ask(ctx context.Context, hook *webhook, r *Request) (*answer, error) {
	version, ok := hook.matches(r)
	if !ok {
		return &answer{}, nil
	}
	got, err := w.send(ctx, hook, r.review(version))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && hook.FailurePolicy == "Ignore":
		return &answer{}, nil
	case err != nil:
		return nil, failed(hook, err)
	}
	r.Warnings = append(r.Warnings, got.Warnings...)
	if !got.Allowed {
		return nil, got.denied(hook)
	}
	return got, nil
}

// failed is the error of a request that needs a webhook without an answer.
func failed(hook *webhook, err error) *Denied {
	return &Denied{http.StatusInternalServerError, "InternalError", fmt.Sprintf("Internal error occurred: failed calling webhook %q: %v", hook.Name, err)}
}

func (w *Webhooks) send(ctx context.Context, hook *webhook, review []byte) (*answer, error) {
	status, body, err := w.post(ctx, hook.url(), review)
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to call webhook: %w", err)
	case status != http.StatusOK:
		return nil, fmt.Errorf("failed to call webhook: the server answered with status %d: %s", status, body)
	}
	var got struct {
		Response *answer `json:"response"`
	}
	if err := json.Unmarshal(body, &got); err != nil || got.Response == nil {
		return nil, fmt.Errorf("failed to call webhook: the answer is no review: %s", body)
	}
	return got.Response, nil
}

// review is the request as a webhook gets it, with objects in the version that the webhook is for.
func (r *Request) review(version string) []byte {
	gvr := func(name, value string) dicts.Object {
		return dicts.Object{"group": r.Resource.Group, "version": version, name: value}
	}
	request := dicts.Object{
		"uid": "00000000-0000-4000-8000-000000000000", "operation": r.Operation, "name": r.Name, "dryRun": r.DryRun, "userInfo": r.User,
		"kind": gvr("kind", r.Resource.Kind), "resource": gvr("resource", r.Resource.Plural),
		"object": r.versioned(r.New, version), "oldObject": r.versioned(r.Old, version),
	}
	if r.Subresource != "" {
		request["subResource"] = r.Subresource
	}
	if r.Namespace != "" {
		request["namespace"] = r.Namespace
	}
	return dicts.Encode(dicts.Object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

// versioned returns an object in another version; nil for no object.
func (r *Request) versioned(object dicts.Object, version string) any {
	if object == nil {
		return nil
	}
	if version == r.Resource.Version {
		return object
	}
	other := dicts.CloneObject(object)
	other["apiVersion"] = selectors.Resource{Group: r.Resource.Group, Version: version}.APIVersion()
	return other
}

// answer is the decision of a webhook.
type answer struct {
	Allowed  bool     `json:"allowed"`
	Patch    string   `json:"patch"` // a JSON patch in base64; empty: none
	Warnings []string `json:"warnings"`
	Status   struct {
		Message string `json:"message"`
		Reason  string `json:"reason"`
		Code    int    `json:"code"`
	} `json:"status"`
}

func (a *answer) patched(object dicts.Object) (dicts.Object, error) {
	if a.Patch == "" || object == nil {
		return object, nil
	}
	text, err := base64.StdEncoding.DecodeString(a.Patch)
	if err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}
	decoded, err := dicts.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}
	operations, ok := decoded.([]any)
	if !ok {
		return nil, fmt.Errorf("the patch is no JSON patch: %s", text)
	}
	return dicts.JSONPatch(object, operations)
}

// denied is the error that clients of the API server get.
func (a *answer) denied(hook *webhook) *Denied {
	message := fmt.Sprintf("admission webhook %q denied the request", hook.Name)
	switch {
	case a.Status.Message != "":
		message += ": " + a.Status.Message
	case a.Status.Reason != "":
		message += ": " + a.Status.Reason
	default:
		message += " without explanation"
	}
	return &Denied{max(a.Status.Code, http.StatusBadRequest), a.Status.Reason, message}
}
