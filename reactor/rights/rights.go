// Package rights has the questions whether an account may do something, in the form of the API
// server: SelfSubjectAccessReview and SubjectAccessReview. It is pure: its callers send the
// questions.
//
// See https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
package rights

import (
	"context"
	"encoding/json"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// Question asks for one right, either to a resource or to a path.
type Question struct {
	Subject  *Subject  // who; nil: the account that asks
	Resource *Resource // nil: Path
	Path     *Path
}

// Subject is an account as the API server knows it.
type Subject struct {
	User   string              `json:"user,omitempty"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
}

// Resource is a verb for all objects of a resource, or for the one with a name.
type Resource struct {
	Verb        string `json:"verb"`
	Group       string `json:"group"`
	Version     string `json:"version,omitempty"` // empty: any
	Plural      string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace"` // empty: the whole cluster
	Name        string `json:"name,omitempty"`
}

// Path is a verb for a path that is no resource.
type Path struct {
	Verb string `json:"verb"` // a method of HTTP in lower case
	Path string `json:"path"`
}

// group is the group of both reviews.
const group = "authorization.k8s.io"

// review is the JSON form of a SubjectAccessReview or SelfSubjectAccessReview.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       spec   `json:"spec"`
}

type spec struct {
	*Subject
	Resource *Resource `json:"resourceAttributes,omitempty"`
	Path     *Path     `json:"nonResourceAttributes,omitempty"`
}

// Review returns the review that asks a question, and the path to which it is posted.
func (q Question) Review() (path apipath.Path, body []byte, err error) {
	plural, kind := "selfsubjectaccessreviews", "SelfSubjectAccessReview"
	if q.Subject != nil {
		plural, kind = "subjectaccessreviews", "SubjectAccessReview"
	}
	path, err = apipath.Of(apipath.Target{Group: group, Version: "v1", Plural: plural})
	if err != nil {
		return "", nil, err
	}
	body, err = json.Marshal(review{group + "/v1", kind, spec{q.Subject, q.Resource, q.Path}})
	return path, body, err
}

// Ask asks the question through a function that posts a review, and reports whether the account has the right.
func (q Question) Ask(ctx context.Context, post func(ctx context.Context, path apipath.Path, body []byte) ([]byte, error)) (bool, error) {
	path, body, err := q.Review()
	if err != nil {
		return false, err
	}
	text, err := post(ctx, path, body)
	if err != nil {
		return false, err
	}
	var answer Answer
	err = json.Unmarshal(text, &answer)
	return answer.Allowed(), err
}

// Answer is the review with which the API server answers.
type Answer struct {
	Status struct {
		Allowed bool `json:"allowed"`
		Denied  bool `json:"denied"` // explicitly; never with Allowed
	} `json:"status"`
}

// Allowed reports whether the account has the right.
func (a Answer) Allowed() bool { return a.Status.Allowed && !a.Status.Denied }
