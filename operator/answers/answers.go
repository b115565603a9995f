// Package answers answers requests of guests from a file, so that handlers run without a
// cluster and without a network.
package answers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/internal/spelling"
	"github.com/kopf-wasm/kopf/operator/documents"
)

// Answers are the answers of one file. The first one that fits a request answers it. The nil
// value has none. It is safe for concurrent use.
type Answers struct {
	mu  sync.Mutex // guards what is left of each
	all []*answer
}

// answer is one item of a file.
type answer struct {
	method, path string // the path may have asterisks
	left         int    // how often it answers; negative: always
	response     abi.Response
	failure      *abi.Error // in place of the response
}

// Parse reads a list of answers from the documents of a file.
func Parse(nodes []documents.Node) (*Answers, error) {
	all := &Answers{}
	for _, node := range nodes {
		for _, item := range node.Items() {
			one, err := parse(item)
			if err != nil {
				return nil, err
			}
			all.all = append(all.all, one)
		}
	}
	return all, nil
}

// methods are those of requests; the asterisk is any.
var methods = []string{"*", http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

func parse(n documents.Node) (*answer, error) {
	fields, err := n.Fields("request", "status", "headers", "body", "error", "times")
	if err != nil {
		return nil, err
	}
	request, ok := fields["request"]
	if !ok {
		return nil, n.Errorf("an answer without its request: add request: GET /api/v1/namespaces/default/pods")
	}
	text, err := request.Text()
	if err != nil {
		return nil, err
	}
	method, path, ok := strings.Cut(text, " ")
	if !ok || strings.TrimSpace(path) == "" {
		return nil, request.Errorf("%q is not a request: write a method and a path, as in GET /api/v1/pods", text)
	}
	if method = strings.ToUpper(method); !slices.Contains(methods, method) {
		return nil, request.Errorf("unknown method %q%s", method, spelling.Meant(method, methods))
	}
	a := &answer{method: method, path: strings.TrimSpace(path), left: -1, response: abi.Response{Status: http.StatusOK}}
	return a, a.parse(fields)
}

// parse reads what follows the request.
func (a *answer) parse(fields map[string]documents.Node) (err error) {
	if node, ok := fields["status"]; ok {
		if a.response.Status, err = node.Int(); err == nil && (a.response.Status < 100 || a.response.Status > 599) {
			err = node.Errorf("%d is not a status: want 100 to 599", a.response.Status)
		}
		if err != nil {
			return err
		}
	}
	if node, ok := fields["times"]; ok {
		if a.left, err = node.Int(); err == nil && a.left == 0 {
			err = node.Errorf("0 times: the answer would never be given")
		}
		if err != nil {
			return err
		}
	}
	if node, ok := fields["error"]; ok {
		for _, name := range []string{"status", "headers", "body"} {
			if other, ok := fields[name]; ok {
				return other.Errorf("%q next to error: a request with an error has no response", name)
			}
		}
		message, err := node.Text()
		if err != nil {
			return err
		}
		a.failure = &abi.Error{Kind: abi.ErrorArbitrary, Type: abi.CallUnreachable, Message: message}
	}
	if node, ok := fields["body"]; ok {
		value, err := node.Value()
		if err != nil {
			return err
		}
		a.response.Body = dicts.Encode(value)
	}
	return a.parseHeaders(fields["headers"])
}

func (a *answer) parseHeaders(n documents.Node) error {
	a.response.Headers = map[string][]string{"Content-Type": {"application/json"}}
	if !n.Exists() {
		return nil
	}
	headers, err := n.Texts()
	if err != nil {
		return err
	}
	for name, value := range headers {
		a.response.Headers[http.CanonicalHeaderKey(name)] = []string{value}
	}
	return nil
}

// Find returns the answer to a request; nil if there is none.
func (a *Answers) Find(call *abi.Call) *abi.Answer {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if one.left == 0 || !one.fits(call) {
			continue
		}
		if one.left > 0 {
			one.left--
		}
		if one.failure != nil {
			return &abi.Answer{Error: one.failure}
		}
		response := one.response
		if call.Verbatim && !json.Valid(response.Body) || call.Verbatim && len(response.Body) > 0 && response.Body[0] != '"' {
			response.Body = dicts.Encode(string(response.Body))
		}
		return &abi.Answer{Response: &response}
	}
	return nil
}

// fits compares the path without its query if the answer names none.
func (a *answer) fits(call *abi.Call) bool {
	if a.method != "*" && !strings.EqualFold(a.method, call.Method) {
		return false
	}
	path := call.Path
	if !strings.Contains(a.path, "?") {
		path, _, _ = strings.Cut(path, "?")
	}
	return matches(a.path, path)
}

// matches compares a text with a pattern, in which an asterisk is any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return ok && text == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}

// Refusal is the answer to a request that has no answer. The where says where to add one.
func Refusal(call *abi.Call, where string) *abi.Answer {
	return &abi.Answer{Error: &abi.Error{
		Kind: abi.ErrorArbitrary, Type: abi.CallUnreachable,
		Message: fmt.Sprintf("there is no answer to %s %.300s: add one to %s", call.Method, call.Path, where),
	}}
}
