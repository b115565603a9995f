package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/operator/documents"
)

// mannerNames are the keys that say how a step sends its requests, and what it expects of them.
var mannerNames = []string{"user", "dryRun", "subresource", "denied", "warnings", "returns"}

// sending are the steps that send requests.
var sending = []string{"apply", "change", "delete"}

// manner is how a step sends its requests, and what it expects of the answers.
type manner struct {
	user   apiserver.User
	denied *denial // nil: the requests must succeed

	warnings []wanted     // of all requests, in their order
	returns  dicts.Object // parts of the object in the answer; nil: it does not matter
	nodes    map[string]documents.Node
}

// denial is an expected refusal.
type denial struct {
	message string // a part of it
	code    int    // HTTP status; 0: any
}

// readManner reads what a step says besides its action.
func readManner(action string, fields map[string]documents.Node) (*manner, error) {
	m := &manner{nodes: fields}
	for _, name := range mannerNames {
		n, ok := fields[name]
		if !ok {
			continue
		}
		if !slices.Contains(sending, action) {
			return nil, n.Errorf("%q in a step %q, which sends no request: it is for %s", name, action, strings.Join(sending, ", "))
		}
		if err := m.read(name, n); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *manner) read(name string, n documents.Node) (err error) {
	switch name {
	case "user":
		m.user.Info, err = readUser(n)
	case "dryRun":
		m.user.DryRun, err = n.Bool()
	case "subresource":
		m.user.Subresource, err = n.Text()
	case "denied":
		m.denied, err = readDenial(n)
	case "warnings":
		m.warnings, err = readWanted(n)
	default:
		m.returns, err = n.Object()
	}
	return err
}

// readUser reads the name of a user, or the userInfo of a review.
func readUser(n documents.Node) (dicts.Object, error) {
	if n.IsText() {
		name, err := n.Text()
		return dicts.Object{"username": name, "groups": []any{"system:authenticated"}}, err
	}
	if _, err := n.Fields("username", "uid", "groups", "extra"); err != nil {
		return nil, err
	}
	return n.Object()
}

// readDenial reads a part of the message, or a mapping.
func readDenial(n documents.Node) (*denial, error) {
	d := &denial{}
	if n.IsText() {
		var err error
		d.message, err = n.Text()
		return d, err
	}
	fields, err := n.Fields("message", "code")
	if err != nil {
		return nil, err
	}
	if node, ok := fields["message"]; ok {
		if d.message, err = node.Text(); err != nil {
			return nil, err
		}
	}
	if node, ok := fields["code"]; ok {
		d.code, err = node.Int()
	}
	return d, err
}

// check refuses expectations of one answer in a step with several requests.
func (m *manner) check(requests int) error {
	for _, name := range []string{"denied", "warnings", "returns"} {
		if n, ok := m.nodes[name]; ok && requests != 1 {
			return n.Errorf("%q in a step with %d requests: write each request as a step of its own", name, requests)
		}
	}
	return nil
}

// compare compares the answer to a request with what is expected of it. An error of the API
// server that is not expected is a mismatch.
func (m *manner) compare(r *run, n documents.Node, got *apiserver.Answer, err error) []Mismatch {
	var refused *apiserver.Error
	switch isRefused := errors.As(err, &refused); {
	case err != nil && (!isRefused || m.denied == nil):
		return r.problem(n, err)
	case m.denied != nil:
		if misses := m.denied.compare(m.nodes["denied"], refused); len(misses) > 0 {
			return misses
		}
	}
	if n, ok := m.nodes["warnings"]; ok {
		if misses := r.compare(n, "warnings", m.warnings, dicts.List(got.Warnings), ""); len(misses) > 0 {
			return misses
		}
	}
	if m.returns == nil {
		return nil
	}
	if lines := differences("", m.returns, got.Object); len(lines) > 0 {
		return mismatch(m.nodes["returns"], "the returned object", lines...)
	}
	return nil
}

// compare compares a refusal with the expected one. Nil: the request was accepted.
func (d *denial) compare(n documents.Node, got *apiserver.Error) []Mismatch {
	switch {
	case got == nil:
		return mismatch(n, "denied", "- "+d.String(), "+ accepted")
	case !strings.Contains(got.Message, d.message) || d.code != 0 && d.code != got.Code:
		return mismatch(n, "denied", "- "+d.String(), "+ "+(&denial{got.Message, got.Code}).String())
	}
	return nil
}

// String is a refusal in messages: 422: the size cannot be negative.
func (d *denial) String() string {
	if d.code == 0 {
		return d.message
	}
	return strings.TrimSuffix(fmt.Sprintf("%d: %s", d.code, d.message), ": ")
}
