package admission

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

var examples = selectors.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample"}

// configuration has one webhook, w.test, with further fields in JSON.
func configuration(fields string) []byte {
	return fmt.Appendf(nil, `{"webhooks":[{"name":"w.test","clientConfig":{"url":"https://operator.test/w"},`+
		`"rules":[{"apiGroups":["kopf.dev"],"apiVersions":["v1"],"resources":["kopfexamples"],"operations":["CREATE","UPDATE"]}]%s}]}`, fields)
}

// answering answers all reviews with a response, and collects the URLs.
func answering(urls *[]string, response string) Post {
	return func(_ context.Context, url string, _ []byte) (int, []byte, error) {
		*urls = append(*urls, url)
		return 200, []byte(`{"response":` + response + `}`), nil
	}
}

func request() *Request {
	return &Request{Operation: "CREATE", Resource: examples, Name: "a", New: dicts.Object{
		"apiVersion": "kopf.dev/v1", "metadata": dicts.Object{"labels": dicts.Object{"x": "y"}}, "spec": dicts.Object{"a": "b"},
	}}
}

func TestWebhooksAreAskedAboutTheRequestsOfTheirRules(t *testing.T) {
	tests := []struct {
		name, fields string
		change       func(r *Request)
		asked        bool
	}{
		{"a creation", "", func(*Request) {}, true},
		{"a deletion", "", func(r *Request) { r.Operation = "DELETE" }, false},
		{"another resource", "", func(r *Request) { r.Resource.Plural = "pods" }, false},
		{"another group", "", func(r *Request) { r.Resource.Group = "example.com" }, false},
		{"a subresource", "", func(r *Request) { r.Subresource = "status" }, false},
		{"an equivalent version", "", func(r *Request) { r.Resource.Version = "v2" }, true},
		{"another version", `,"matchPolicy":"Exact"`, func(r *Request) { r.Resource.Version = "v2" }, false},
		{"the labels", `,"objectSelector":{"matchLabels":{"x":"y"}}`, func(*Request) {}, true},
		{"other labels", `,"objectSelector":{"matchLabels":{"x":"z"}}`, func(*Request) {}, false},
		{"old labels", `,"objectSelector":{"matchLabels":{"x":"y"}}`, func(r *Request) { r.Old, r.New = r.New, dicts.Object{} }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var urls []string
			w, r := New(answering(&urls, `{"allowed":true}`)), request()
			if err := w.SetValidating(configuration(tt.fields + `,"timeoutSeconds":7`)); err != nil {
				t.Fatal(err)
			}
			tt.change(r)
			if err := w.Validate(t.Context(), r); err != nil {
				t.Error(err)
			}
			if asked := cmp.Equal(urls, []string{"https://operator.test/w?timeout=7s"}); asked != tt.asked || len(urls) > 1 {
				t.Errorf("asked: %v", urls)
			}
		})
	}
}

func TestRefusalsAreAsOfTheAPIServer(t *testing.T) {
	tests := []struct{ name, fields, response, want string }{
		{"with a message", "", `{"allowed":false,"status":{"message":"too large","code":422}}`, `422 admission webhook "w.test" denied the request: too large`},
		{"with a reason", "", `{"allowed":false,"status":{"reason":"Invalid"}}`, `400 admission webhook "w.test" denied the request: Invalid`},
		{"without any", "", `{"allowed":false}`, `400 admission webhook "w.test" denied the request without explanation`},
		{"no review", "", `null`, `500 Internal error occurred: failed calling webhook "w.test": failed to call webhook: the answer is no review: {"response":null}`},
		{"an ignored failure", `,"failurePolicy":"Ignore"`, `null`, ""},
		{"a refusal is no failure", `,"failurePolicy":"Ignore"`, `{"allowed":false}`, `400 admission webhook "w.test" denied the request without explanation`},
		{"a broken patch", "", `{"allowed":true,"patch":"e30="}`, `500 Internal error occurred: failed calling webhook "w.test": the patch is no JSON patch: {}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var urls []string
			w := New(answering(&urls, tt.response))
			if err := w.SetMutating(configuration(tt.fields)); err != nil {
				t.Fatal(err)
			}
			got := ""
			var denied *Denied
			if err := w.Mutate(t.Context(), request()); errors.As(err, &denied) {
				got = fmt.Sprint(denied.Code, " ", denied)
			}
			if got != tt.want {
				t.Errorf("error: %s\nwant:  %s", got, tt.want)
			}
		})
	}
}

func TestMutationsFollowEachOther(t *testing.T) {
	patch := base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/spec/a","value":1}]`))
	var urls []string
	w, r := New(answering(&urls, `{"allowed":true,"patch":"`+patch+`","warnings":["odd"]}`)), request()
	before := r.New
	if err := w.SetMutating(configuration("")); err != nil {
		t.Fatal(err)
	}
	if err := w.Mutate(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := string(dicts.Encode(r.New["spec"])); got != `{"a":1}` || !cmp.Equal(r.Warnings, []string{"odd"}) {
		t.Errorf("the object has %s, warnings %v", got, r.Warnings)
	}
	if got := string(dicts.Encode(before["spec"])); got != `{"a":"b"}` {
		t.Errorf("the object of the sender has changed: %s", got)
	}
}

func TestMistakesInConfigurationsAreErrors(t *testing.T) {
	w := New(nil)
	if w.Any() {
		t.Error("webhooks exist")
	}
	for _, text := range []string{"[]", string(configuration(`,"objectSelector":{"matchExpressions":[{"key":"x","operator":"Is"}]}`))} {
		if err := w.SetValidating([]byte(text)); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}
