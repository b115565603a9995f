package apiserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// examples are a resource with a status subresource, and in two versions.
var examples = []selectors.Resource{
	{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample", Namespaced: true, Preferred: true, Subresources: []string{"status"}, Verbs: verbs},
	{Group: "kopf.dev", Version: "v2", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample", Namespaced: true, Subresources: []string{"status"}, Verbs: verbs},
}

const (
	path = "/apis/kopf.dev/v1/namespaces/default/kopfexamples"
	body = `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"a"},"spec":{"x":1},"status":{"y":1}}`
)

// ask sends a request, and returns the status and parts of the response.
func ask(t *testing.T, s *Server, method, target, contentType, text string, parts ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://cluster"+target, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	rsp, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer rsp.Body.Close()
	raw, err := io.ReadAll(rsp.Body)
	if err != nil {
		t.Fatal(err)
	}
	object, err := dicts.DecodeObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprint(rsp.StatusCode)
	for _, part := range parts {
		value, ok := dicts.Lookup(object, strings.Split(part, ".")...)
		if ok {
			out += " " + string(dicts.Encode(value))
		} else {
			out += " -"
		}
	}
	return out
}

const (
	mergePatch = "application/merge-patch+json"
	jsonPatch  = "application/json-patch+json"
)

func TestObjectsChangeAsInAPIServers(t *testing.T) {
	s := New(examples)
	steps := []struct{ method, path, kind, text, want string }{
		{"POST", path, "", body, `201 {"x":1} - 1`}, // the status is a subresource
		{"POST", path, "", body, "409 - \"Failure\" -"},
		{"GET", path + "/a", "", "", `200 {"x":1} - 1`},
		{"GET", path + "/b", "", "", "404 - \"Failure\" -"},
		{"PATCH", path + "/a", mergePatch, `{"spec":{"x":null,"z":2},"status":{"y":2}}`, `200 {"z":2} - 2`},
		{"PATCH", path + "/a/status", mergePatch, `{"spec":{"x":3},"status":{"y":2}}`, `200 {"z":2} {"y":2} 2`},
		{"PATCH", path + "/a", jsonPatch, `[{"op":"test","path":"/spec/z","value":2},{"op":"add","path":"/spec/list","value":[1]},{"op":"add","path":"/spec/list/-","value":2}]`, `200 {"list":[1,2],"z":2} {"y":2} 3`},
		{"PATCH", path + "/a", jsonPatch, `[{"op":"test","path":"/spec/z","value":3},{"op":"remove","path":"/spec"}]`, "422 - \"Failure\" -"},
		{"PATCH", path + "/a", mergePatch, `{"metadata":{"resourceVersion":"1"}}`, "409 - \"Failure\" -"},
		{"PUT", path + "/a", "", `{"spec":{"x":9}}`, `200 {"x":9} {"y":2} 4`},
		{"PATCH", path + "/a?dryRun=All", mergePatch, `{"spec":{"x":10}}`, `200 {"x":10} {"y":2} 5`},
		{"DELETE", path + "?dryRun=All", "", "", "200 - - -"},
		{"GET", path + "/a", "", "", `200 {"x":9} {"y":2} 4`},
		{"PATCH", path + "/a/scale", mergePatch, `{}`, "404 - \"Failure\" -"},
		{"GET", "/apis/kopf.dev/v3/kopfexamples", "", "", "404 - \"Failure\" -"},
	}
	for _, step := range steps {
		if got := ask(t, s, step.method, step.path, step.kind, step.text, "spec", "status", "metadata.generation"); got != step.want {
			t.Errorf("%s %s %s: %s, want %s", step.method, step.path, step.text, got, step.want)
		}
	}
}

func TestFinalizersKeepObjects(t *testing.T) {
	s := New(examples)
	ask(t, s, "POST", path, "", `{"metadata":{"name":"a","finalizers":["f"]}}`)
	if got := ask(t, s, "DELETE", path+"/a", "", "", "metadata.finalizers", "metadata.deletionGracePeriodSeconds"); got != `200 ["f"] 0` {
		t.Errorf("after the deletion: %s", got)
	}
	if got := ask(t, s, "GET", path+"/a", "", "", "metadata.name"); got != `200 "a"` {
		t.Errorf("with its finalizer: %s", got)
	}
	ask(t, s, "PATCH", path+"/a", mergePatch, `{"metadata":{"finalizers":null}}`)
	if got := ask(t, s, "GET", path+"/a", "", "", "metadata.name"); got != "404 -" {
		t.Errorf("without its finalizer: %s", got)
	}
}

func TestChildrenGoWithTheirOwner(t *testing.T) {
	s := New(examples)
	owner := s.Get(Reference{Kind: "KopfExample", Name: "a"})
	if owner != nil {
		t.Fatal("the object exists already")
	}
	ask(t, s, "POST", path, "", body)
	uid := dicts.LookupString(s.Get(Reference{Kind: "kopfexamples", Name: "a"}), "metadata", "uid")
	ask(t, s, "POST", "/api/v1/namespaces/default/configmaps", "", `{"metadata":{"generateName":"c-","ownerReferences":[{"uid":"`+uid+`"}]}}`)
	if names := s.Names("cm"); len(names) != 1 || !strings.HasPrefix(names[0], "default/c-") {
		t.Errorf("config maps: %v", names)
	}
	if err := s.Delete(t.Context(), Reference{Kind: "KopfExample", Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if names := s.Names("ConfigMap"); len(names) != 0 {
		t.Errorf("config maps without their owner: %v", names)
	}
}

// events reads watch events as TYPE NAME.
func events(ctx context.Context, t *testing.T, s *Server, query string) (<-chan string, func()) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cluster"+path+"?watch=true"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	rsp, err := s.RoundTrip(r) //nolint:bodyclose // the caller closes it
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() { // ends with the watch
		defer close(lines)
		for scanner := bufio.NewScanner(rsp.Body); scanner.Scan(); {
			event, err := dicts.DecodeObject(scanner.Bytes())
			if err != nil {
				t.Error(err)
				return
			}
			lines <- dicts.LookupString(event, "type") + " " + dicts.LookupString(event, "object", "metadata", "name")
		}
	}()
	return lines, func() { _ = rsp.Body.Close() } // the goroutine above reads it
}

func read(lines <-chan string) []string {
	synctest.Wait()
	var all []string
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return append(all, "end")
			}
			all = append(all, line)
		default:
			return all
		}
	}
}

func TestWatchesContinueFromVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(examples)
		ask(t, s, "POST", path, "", body)
		since := ask(t, s, "GET", path, "", "", "metadata.resourceVersion")[5:9]
		ask(t, s, "POST", path, "", strings.Replace(body, `"a"`, `"b","labels":{"x":"y"}`, 1))
		all, closeAll := events(t.Context(), t, s, "&resourceVersion="+since)
		labelled, closeLabelled := events(t.Context(), t, s, "&labelSelector=x%3Dy")
		ask(t, s, "PATCH", path+"/a", mergePatch, `{"spec":{"x":2}}`)
		ask(t, s, "PATCH", path+"/a", mergePatch, `{"spec":{"x":2}}`) // no change, no event
		ask(t, s, "DELETE", path+"/b", "", "")
		if err := s.Send("MODIFIED", dicts.Object{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": dicts.Object{"name": "c"}}); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"ADDED b", "MODIFIED a", "DELETED b", "MODIFIED c"}, read(all)); diff != "" {
			t.Errorf("all events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"DELETED b"}, read(labelled)); diff != "" {
			t.Errorf("labelled events (-want +got):\n%s", diff)
		}
		closeLabelled()
		s.Disconnect()
		if diff := cmp.Diff([]string{"end"}, read(all)); diff != "" {
			t.Errorf("after the end (-want +got):\n%s", diff)
		}
		closeAll()
		ctx, cancel := context.WithCancel(t.Context())
		cancelled, _ := events(ctx, t, s, "")
		cancel()
		if diff := cmp.Diff([]string{"end"}, read(cancelled)); diff != "" {
			t.Errorf("after the cancellation (-want +got):\n%s", diff)
		}
	})
}

// TestResourcesAreDiscovered: all at once, and by clients that ask for each version, such as kubernetes.dynamic of Python.
func TestResourcesAreDiscovered(t *testing.T) {
	for _, atOnce := range []bool{true, false} {
		s := New(append(slices.Clone(examples), Guessed(dicts.Object{"apiVersion": "example.com/v1", "kind": "Policy"})))
		found, err := discovery.Scan(t.Context(), func(ctx context.Context, p apipath.Path, accept string) (string, []byte, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cluster"+string(p), http.NoBody)
			if err != nil {
				return "", nil, err
			}
			if atOnce {
				r.Header.Set("Accept", accept)
			}
			rsp, err := s.RoundTrip(r)
			if err != nil {
				return "", nil, err
			}
			defer rsp.Body.Close()
			text, err := io.ReadAll(rsp.Body)
			return rsp.Header.Get("Content-Type"), text, err
		})
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, r := range found {
			names[r.String()] = true
			if r.Kind == "KopfExample" && !cmp.Equal(r.Subresources, []string{"status"}) {
				t.Errorf("at once %t: subresources of %s: %v", atOnce, r, r.Subresources)
			}
		}
		for _, name := range []string{"pods.v1", "deployments.v1.apps", "kopfexamples.v1.kopf.dev", "kopfexamples.v2.kopf.dev", "policies.v1.example.com"} {
			if !names[name] {
				t.Errorf("at once %t: %s is not found", atOnce, name)
			}
		}
	}
	s := New(nil)
	if got := ask(t, s, "GET", "/apis/absent.example.com/v1", "", "", "reason"); got != `404 "NotFound"` {
		t.Errorf("a version that is absent: %s", got)
	}
}
