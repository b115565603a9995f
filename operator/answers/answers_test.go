package answers

import (
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/operator/documents"
)

func parsed(t *testing.T, text string) *Answers {
	t.Helper()
	nodes, err := documents.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Parse(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheFirstFittingAnswerAnswers(t *testing.T) {
	all := parsed(t, `
- {request: GET /api/v1/pods, body: {items: []}, times: 1}
- {request: GET /api/v1/pods, status: 503, body: later}
- {request: "* https://*.example.com/*", headers: {x-price: "5"}}
- {request: "POST /api/v1/pods?dryRun=All", error: the network is gone}
`)
	tests := []struct{ method, path, want string }{
		{"GET", "/api/v1/pods?limit=1", `200 {"items":[]}`},
		{"get", "/api/v1/pods", `503 "later"`},
		{"GET", "/api/v1/pods", `503 "later"`},
		{"PUT", "https://a.example.com/b/c", "200 "},
		{"PUT", "https://a.example.org/b/c", "none"},
		{"POST", "/api/v1/pods?dryRun=All", "the network is gone"},
		{"POST", "/api/v1/pods", "none"},
	}
	for _, tt := range tests {
		got := all.Find(&abi.Call{Method: tt.method, Path: tt.path})
		if text := shown(got); text != tt.want {
			t.Errorf("%s %s is answered with %s, want %s", tt.method, tt.path, text, tt.want)
		}
	}
}

func shown(a *abi.Answer) string {
	switch {
	case a == nil:
		return "none"
	case a.Error != nil:
		return a.Error.Message
	}
	return strings.Join([]string{map[int]string{200: "200", 503: "503"}[a.Response.Status], string(a.Response.Body)}, " ")
}

func TestMistakesInAnswers(t *testing.T) {
	tests := []struct{ text, want string }{
		{"- {status: 200}", "a.yaml:1:3: an answer without its request"},
		{"- {request: /api/v1/pods}", `"/api/v1/pods" is not a request: write a method and a path`},
		{"- {request: GTE /api/v1/pods}", `unknown method "GTE": did you mean GET?`},
		{"- {request: GET /, status: 2000}", "2000 is not a status: want 100 to 599"},
		{"- {reqest: GET /}", `unknown key "reqest": did you mean request?`},
		{"- {request: GET /, times: -1}", "where a whole number is expected"},
		{"- {request: GET /, times: 0}", "0 times: the answer would never be given"},
		{"- {request: GET /, error: closed, status: 500}", `"status" next to error: a request with an error has no response`},
	}
	for _, tt := range tests {
		nodes, err := documents.Parse("a.yaml", []byte(tt.text))
		if err == nil {
			_, err = Parse(nodes)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %s", tt.text, err, tt.want)
		}
	}
}
