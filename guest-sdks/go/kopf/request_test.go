package kopf_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopftest"
)

const pods = "/api/v1/namespaces/ns1/pods"

// TestPathsOfTheAPI: what each method sends.
func TestPathsOfTheAPI(t *testing.T) {
	pod := kopf.Map{"metadata": kopf.Map{"name": "p"}}
	grace := 5
	tests := []struct {
		name string
		do   func(a kopf.API) error
		want string
	}{
		{"get", func(a kopf.API) error { return second(a.Get("p")) }, "GET " + pods + "/p"},
		{"create", func(a kopf.API) error { return second(a.Create(pod)) }, `POST ` + pods + ` {"metadata":{"name":"p"}}`},
		{"update", func(a kopf.API) error { return second(a.Update(pod)) }, `PUT ` + pods + `/p {"metadata":{"name":"p"}}`},
		{"apply", func(a kopf.API) error { return second(a.Apply(pod)) }, `PATCH ` + pods + `/p?fieldManager=kopf {"metadata":{"name":"p"}} [application/apply-patch+yaml]`},
		{"apply by force", func(a kopf.API) error { return second(a.Apply(pod, kopf.Force{})) }, `PATCH ` + pods + `/p?fieldManager=kopf&force=true {"metadata":{"name":"p"}} [application/apply-patch+yaml]`},
		{"patch", func(a kopf.API) error { return second(a.Patch("p", kopf.Map{"a": nil})) }, `PATCH ` + pods + `/p {"a":null} [application/merge-patch+json]`},
		{"edit", func(a kopf.API) error { return second(a.PatchJSON("p", []any{})) }, `PATCH ` + pods + `/p [] [application/json-patch+json]`},
		{"delete", func(a kopf.API) error { return a.Delete("p") }, "DELETE " + pods + "/p"},
		{
			"delete with options", func(a kopf.API) error {
				return a.Delete("p", kopf.DeleteOptions{Propagation: "Foreground", UID: "u", GraceSeconds: &grace})
			},
			`DELETE ` + pods + `/p {"apiVersion":"v1","gracePeriodSeconds":5,"kind":"DeleteOptions","preconditions":{"uid":"u"},"propagationPolicy":"Foreground"}`,
		},
		{"subresource", func(a kopf.API) error { a.Subresource = "status"; return second(a.Get("p")) }, "GET " + pods + "/p/status"},
		{"create for an object", func(a kopf.API) error { a.Subresource = "eviction"; return second(a.Create(pod)) }, `POST ` + pods + `/p/eviction {"metadata":{"name":"p"}}`},
		{"a group", func(a kopf.API) error { a.Version, a.Namespace = "apps/v1", ""; return second(a.Get("p")) }, "GET /apis/apps/v1/pods/p"},
		{"odd names", func(a kopf.API) error { return second(a.Get("../x y?z#ü")) }, "GET " + pods + "/..%2Fx%20y%3Fz%23%C3%BC"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host := kopftest.New(t)
			host.Answer = func(kopftest.Request) *kopftest.Answer { return &kopftest.Answer{Body: pod} }
			c := host.Change(kopftest.Fixture{Body: body})
			if err := tt.do(c.API("v1", "pods")); err != nil {
				t.Fatal(err)
			}
			if got := written(host.Requests[0]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	a := kopftest.New(t).Change(kopftest.Fixture{Body: body}).API("v1", "pods")
	evictions := a
	evictions.Subresource = "eviction"
	for name, err := range map[string]error{
		"get": second(a.Get("")), "apply": second(a.Apply(kopf.Map{})), "delete": a.Delete(""), "evict": second(evictions.Create(kopf.Map{})),
	} {
		var refused *kopf.RequestError
		if !errors.As(err, &refused) || refused.Code != kopf.RequestInvalid {
			t.Errorf("%s without a name: %v", name, err)
		}
	}
}

// TestTextsOfTheAPI: answers that are no objects.
func TestTextsOfTheAPI(t *testing.T) {
	host := kopftest.New(t)
	host.Answer = func(r kopftest.Request) *kopftest.Answer {
		if r.Path == pods+"/p/log?container=main&tailLines=2" {
			return &kopftest.Answer{Body: "one\n{\"two\": 2}\n"}
		}
		return &kopftest.Answer{Status: 404, Body: kopf.Map{"kind": "Status", "reason": "NotFound", "message": "no such pod"}}
	}
	a := host.Change(kopftest.Fixture{Body: body}).API("v1", "pods")
	a.Subresource = "log"
	if log, err := a.Text("p", "container=main&tailLines=2"); err != nil || log != "one\n{\"two\": 2}\n" {
		t.Errorf("got %q, %v", log, err)
	}
	if log, err := a.Text("q", ""); !errors.Is(err, kopf.ErrNotFound) {
		t.Errorf("got %q, %v", log, err)
	}
	var refused *kopf.RequestError
	if _, err := a.Text("", ""); !errors.As(err, &refused) || len(host.Requests) != 2 {
		t.Errorf("without a name: %v, %d requests", err, len(host.Requests))
	}
}

// TestObjectsWithoutAForm: the error is not that they have no name.
func TestObjectsWithoutAForm(t *testing.T) {
	a := kopftest.New(t).Change(kopftest.Fixture{Body: body}).API("v1", "pods")
	odd := kopf.Map{"metadata": kopf.Map{"name": "p"}, "spec": make(chan int)}
	for name, err := range map[string]error{"create": second(a.Create(odd)), "update": second(a.Update(odd)), "apply": second(a.Apply(odd))} {
		if err == nil || err.Error() != "a value of type chan int has no form in JSON" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[A any](_ A, err error) error { return err }

func written(r kopftest.Request) string {
	text := r.Method + " " + r.Path
	if r.Body.Exists() {
		text += " " + string(r.Body.Raw())
	}
	if len(r.Header) > 0 {
		text += fmt.Sprint(" ", r.Header["Content-Type"])
	}
	return text
}

// TestAPIErrors: reasons distinguish errors of the API, or else the status does.
func TestAPIErrors(t *testing.T) {
	all := []error{kopf.ErrNotFound, kopf.ErrAlreadyExists, kopf.ErrConflict, kopf.ErrForbidden, kopf.ErrInvalid, kopf.ErrExpired, kopf.ErrBusy}
	tests := []struct {
		code   int
		reason string
		want   error
	}{
		{404, "NotFound", kopf.ErrNotFound},
		{404, "", kopf.ErrNotFound},
		{409, "AlreadyExists", kopf.ErrAlreadyExists},
		{409, "Conflict", kopf.ErrConflict},
		{409, "", kopf.ErrConflict},
		{403, "Forbidden", kopf.ErrForbidden},
		{403, "", kopf.ErrForbidden},
		{422, "Invalid", kopf.ErrInvalid},
		{400, "BadRequest", kopf.ErrInvalid},
		{422, "", kopf.ErrInvalid},
		{410, "Expired", kopf.ErrExpired},
		{410, "", kopf.ErrExpired},
		{429, "TooManyRequests", kopf.ErrBusy},
		{429, "", kopf.ErrBusy},
		{500, "InternalError", nil},
		{503, "", nil},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.code, tt.reason), func(t *testing.T) {
			host := kopftest.New(t)
			host.Answer = func(kopftest.Request) *kopftest.Answer {
				answer := &kopftest.Answer{Status: tt.code, Header: kopf.Header{"Retry-After": {"7"}}}
				if tt.reason != "" {
					answer.Body = kopf.Map{"kind": "Status", "reason": tt.reason, "message": "because", "details": kopf.Map{"kind": "pods"}}
				}
				return answer
			}
			_, err := host.Change(kopftest.Fixture{Body: body}).API("v1", "pods").Get("p")
			var failed *kopf.APIError
			if !errors.As(err, &failed) || failed.Code != tt.code || failed.RetryAfter != 7*time.Second {
				t.Fatalf("got %#v", err)
			}
			if tt.reason != "" && (failed.Message != "because" || failed.Details.Get("kind").String() != "pods") {
				t.Errorf("got %#v", failed)
			}
			for _, sentinel := range all {
				if errors.Is(err, sentinel) != errors.Is(tt.want, sentinel) {
					t.Errorf("it is %v: %v", sentinel, errors.Is(err, sentinel))
				}
			}
		})
	}
}

// TestClusterOfTests: the fake behaves as its handlers expect of a cluster.
func TestClusterOfTests(t *testing.T) {
	host := kopftest.New(t)
	host.Objects = map[string]any{
		pods + "/a":                       kopf.Map{"metadata": kopf.Map{"name": "a", "labels": kopf.Map{"app": "x"}}},
		pods + "/b":                       kopf.Map{"metadata": kopf.Map{"name": "b"}},
		"/api/v1/namespaces/other/pods/c": kopf.Map{"metadata": kopf.Map{"name": "c"}},
	}
	a := host.Change(kopftest.Fixture{Body: body}).API("v1", "pods")
	list := func(labels string) (names []string) {
		for pod, err := range a.List(kopf.ListOptions{Labels: labels}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, pod.Get("metadata", "name").String())
		}
		return names
	}
	if got := list(""); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the list is %v", got)
	}
	for selector, want := range map[string][]string{
		"app=x": {"a"}, "app==x": {"a"}, "app=y": nil, "app!=x": {"b"}, "app!=y": {"a", "b"}, "app": {"a"}, "!app": {"b"}, "app,app!=x": nil,
	} {
		if got := list(selector); !slices.Equal(got, want) {
			t.Errorf("the list of %s is %v, want %v", selector, got, want)
		}
	}
	everywhere := a
	everywhere.Namespace = ""
	var all []string
	for pod, err := range everywhere.List(kopf.ListOptions{}) {
		all = append(all, pod.Get("metadata", "name").String())
		if err != nil {
			t.Error(err)
		}
	}
	if slices.Sort(all); !slices.Equal(all, []string{"a", "b", "c"}) {
		t.Errorf("the list of all namespaces is %v", all)
	}
	for _, unknown := range []kopf.ListOptions{{Labels: "app in (x,y)"}, {Fields: "metadata.name=a"}} {
		for _, err := range a.List(unknown) {
			if !errors.Is(err, kopf.ErrInvalid) {
				t.Errorf("%+v: %v", unknown, err)
			}
		}
	}
	steps := []struct {
		name string
		err  error
		want error
	}{
		{"taken", second(a.Create(kopf.Map{"metadata": kopf.Map{"name": "a"}})), kopf.ErrAlreadyExists},
		{"new", second(a.Create(kopf.Map{"metadata": kopf.Map{"name": "d"}})), nil},
		{"generated", second(a.Create(kopf.Map{"metadata": kopf.Map{"generateName": "e-"}})), nil},
		{"nameless", second(a.Create(kopf.Map{})), kopf.ErrInvalid},
		{"old version", second(a.Update(kopf.Map{"metadata": kopf.Map{"name": "a", "resourceVersion": "0"}})), kopf.ErrConflict},
		{"update", second(a.Update(kopf.Map{"metadata": kopf.Map{"name": "a"}, "spec": kopf.Map{"x": 1, "y": 2}})), nil},
		{"patch", second(a.Patch("a", kopf.Map{"spec": kopf.Map{"x": nil, "z": 3}})), nil},
		{"patch of nothing", second(a.Patch("z", kopf.Map{})), kopf.ErrNotFound},
		{"apply", second(a.Apply(kopf.Map{"metadata": kopf.Map{"name": "f"}})), nil},
		{"delete", a.Delete("b"), nil},
		{"delete again", a.Delete("b"), kopf.ErrNotFound},
	}
	for _, step := range steps {
		if !errors.Is(step.err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, step.err, step.want)
		}
	}
	if got := host.Object(pods + "/a").Get("spec").String(); got != `{"y":2,"z":3}` {
		t.Errorf("the spec is %s", got)
	}
	if host.Object(pods+"/b").Exists() || !host.Object(pods+"/f").Exists() {
		t.Error("what was deleted is there, or what was applied is not")
	}
	a.Subresource = "eviction"
	for name, want := range map[string]error{"f": nil, "z": kopf.ErrNotFound} {
		if err := second(a.Create(kopf.Map{"kind": "Eviction", "metadata": kopf.Map{"name": name}})); !errors.Is(err, want) {
			t.Errorf("the eviction of %s: %v, want %v", name, err, want)
		}
	}
	a.Version, a.Plural, a.Namespace, a.Subresource = "example.com/v1", "things", "", "" // without namespaces
	err := second(a.Create(kopf.Map{"metadata": kopf.Map{"name": "g"}}))
	a.Subresource = "status"
	if err = errors.Join(err, second(a.Patch("g", kopf.Map{"status": kopf.Map{"ready": true}}))); err != nil || !host.Object("/apis/example.com/v1/things/g").Get("status", "ready").Bool() {
		t.Errorf("the subresource of an object without a namespace: %v", err)
	}
}

// TestFetch: bodies and headers on their way, and requests without an answer.
func TestFetch(t *testing.T) {
	host := kopftest.New(t)
	host.Answer = func(r kopftest.Request) *kopftest.Answer {
		switch r.Path {
		case "https://a/refused":
			return &kopftest.Answer{Code: kopf.RequestNotGranted, Body: "no"}
		case "https://a/text":
			return &kopftest.Answer{Status: 404, Body: []byte("some text")}
		}
		return &kopftest.Answer{Body: kopf.Map{"a": 1}, Header: kopf.Header{"X": {"y"}}}
	}
	c := host.Change(kopftest.Fixture{Body: body})
	for _, r := range []kopf.Request{
		{URL: "https://a/"},
		{URL: "https://a/", Body: "x"},
		{URL: "https://a/", Body: []byte{255}},
		{URL: "https://a/", Body: kopf.Map{}, Header: kopf.Header{"A": {"b"}}},
		{URL: "https://a/", Method: "PUT", Body: kopf.Raw(`"s"`)},
		{URL: "https://a/", Body: kopf.Map{}, Header: kopf.Header{"content-type": {"application/vnd.x+json"}}},
	} {
		if rsp, err := c.Fetch(r); err != nil || rsp.Status != 200 || rsp.JSON().Get("a").Int() != 1 || rsp.Header["X"][0] != "y" {
			t.Errorf("%v: %v, %v", r, rsp, err)
		}
	}
	var got []string
	for _, r := range host.Requests {
		got = append(got, written(r))
	}
	want := []string{
		"GET https://a/", `POST https://a/ "x"`, `POST https://a/ "/w=="`, `POST https://a/ {} [application/json]`,
		`PUT https://a/ "\"s\"" [application/json]`,
		`POST https://a/ {} []`, // not two types, of which the host takes one
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if rsp, err := c.Fetch(kopf.Request{URL: "https://a/text"}); err != nil || rsp.Status != 404 || string(rsp.Body) != "some text" {
		t.Errorf("got %v, %v", rsp, err)
	}
	_, err := c.Fetch(kopf.Request{URL: "https://a/refused"})
	var refused *kopf.RequestError
	if !errors.As(err, &refused) || refused.Code != kopf.RequestNotGranted || refused.Error() != "no" {
		t.Errorf("got %v", err)
	}
	host.Answer = nil
	if _, err := c.Fetch(kopf.Request{URL: "https://a/"}); !errors.As(err, &refused) || refused.Code != kopf.RequestUnreachable {
		t.Errorf("got %v", err)
	}
}

// TestErrorsOfContextsInRequests: callers of functions that take a context look for its errors.
func TestErrorsOfContextsInRequests(t *testing.T) {
	host := kopftest.New(t)
	sentinels := map[string]error{kopf.RequestTimeout: context.DeadlineExceeded, kopf.RequestCancelled: context.Canceled}
	for _, code := range []string{kopf.RequestTimeout, kopf.RequestCancelled, kopf.RequestUnreachable} {
		host.Answer = func(kopftest.Request) *kopftest.Answer { return &kopftest.Answer{Code: code} }
		_, err := kopf.Fetch(host.Change(kopftest.Fixture{Body: body}).Context(), kopf.Request{URL: "https://a/"})
		for of, sentinel := range sentinels {
			if errors.Is(err, sentinel) != (code == of) {
				t.Errorf("%s is %v: %v", code, sentinel, errors.Is(err, sentinel))
			}
		}
	}
}

// TestErrorsOfRequestsInHandlers: what it means to return them.
func TestErrorsOfRequestsInHandlers(t *testing.T) {
	host := kopftest.New(t)
	outcome := host.Run(host.Change(kopftest.Fixture{Body: body}), func(c *kopf.Change) (any, error) {
		_, err := c.API("v1", "pods").Get("missing")
		return nil, err
	})
	if outcome.Error == nil || outcome.Error.Kind != abi.ErrorArbitrary || outcome.Error.Message != pods+"/missing not found" {
		t.Errorf("got %+v", outcome.Error)
	}
	outcome = host.Run(host.Change(kopftest.Fixture{Body: body}), func(c *kopf.Change) (any, error) {
		return nil, c.API("v1", "pods").Delete("")
	})
	if outcome.Error == nil || outcome.Error.Kind != abi.ErrorPermanent {
		t.Errorf("got %+v", outcome.Error)
	}
}
