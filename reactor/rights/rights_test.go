package rights_test

import (
	"encoding/json"
	"testing"

	"github.com/kopf-wasm/kopf/reactor/rights"
)

func TestReviews(t *testing.T) {
	for _, tt := range []struct {
		name     string
		question rights.Question
		path     string
		body     string
	}{
		{
			name:     "the own account, a resource in a namespace",
			question: rights.Question{Resource: &rights.Resource{Verb: "list", Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Subresource: "status", Namespace: "default"}},
			path:     "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			body: `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{` +
				`"resourceAttributes":{"verb":"list","group":"kopf.dev","version":"v1","resource":"kopfexamples","subresource":"status","namespace":"default"}}}`,
		},
		{
			name: "another account, a path",
			question: rights.Question{
				Subject: &rights.Subject{User: "anna", UID: "u1", Groups: []string{"team"}, Extra: map[string][]string{"scopes": {"a"}}},
				Path:    &rights.Path{Verb: "get", Path: "/statusz"},
			},
			path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			body: `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{` +
				`"user":"anna","uid":"u1","groups":["team"],"extra":{"scopes":["a"]},"nonResourceAttributes":{"verb":"get","path":"/statusz"}}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, body, err := tt.question.Review()
			if err != nil {
				t.Fatal(err)
			}
			if string(path) != tt.path || string(body) != tt.body {
				t.Errorf("got %s: %s\nwant %s: %s", path, body, tt.path, tt.body)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	for text, want := range map[string]bool{
		`{"status":{"allowed":true}}`:               true,
		`{"status":{"allowed":false}}`:              false,
		`{"status":{"allowed":true,"denied":true}}`: false,
		`{"status":{}}`:                             false,
	} {
		var answer rights.Answer
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Allowed() != want {
			t.Errorf("%s: got %t, want %t", text, answer.Allowed(), want)
		}
	}
}
