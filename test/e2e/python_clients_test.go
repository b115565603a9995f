package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/packages"
	"github.com/kopf-wasm/kopf/test/sources"
)

// clients are the operators that use client libraries.
const clients = repository + "/test/guests/python/clients/"

// withPackages returns options for an operator of clients with its packages.
func withPackages(t *testing.T, o options, name string) options {
	t.Helper()
	list, err := filepath.Abs(clients + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	sources.Watch(t, "test/guests/python/clients", "scripts")
	folder, err := exec.Command(repository+"/scripts/python-packages.sh", list).Output()
	if err != nil {
		t.Fatalf("the packages of %s are not installed: %v", name, err)
	}
	o = byPython(o, pythonEngine(t), clients+name+".py")
	choose := o.change
	o.change = func(o *operator.Options) {
		choose(o)
		o.Python.Packages = &packages.Packer{From: strings.TrimSpace(string(folder))}
	}
	return o
}

// uses lets an operator use a client, and returns what it got.
func (s space) uses(t *testing.T, name, by, url string) any {
	t.Helper()
	s.create(t, name, fmt.Sprintf(`{by: %s, url: %q}`, by, url))
	status, _ := s.handled(t, name).Object["status"].(map[string]any)
	for _, id := range []string{"sync", "async"} {
		if result, found := status[id].(map[string]any); found {
			return result["value"]
		}
	}
	return nil
}

// TestClientLibraries: requests, urllib3, httpx and pykube-ng reach what is granted, and nothing
// else; the error of a request without a grant names the grant.
func TestClientLibraries(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(webHandler())
	t.Cleanup(server.Close)
	ungranted := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request that is not granted arrived") }))
	t.Cleanup(ungranted.Close)
	s := newSpace(t)
	op := s.start(t, withPackages(t, options{calls: allowing(t, server.URL, "create,get,list,patch,delete:configmaps")}, "web"))
	for by, want := range map[string]any{
		"async_deadline": "GET /echo",
		"by_urllib":      "POST /echo application/x-www-form-urlencoded by urllib",
		"by_urllib3":     "PUT /echo by urllib3",
		"by_httpx":       "PUT /echo by httpx",
		"in_time":        "ReadTimeout",
		"redirected":     "GET /echo",
		"async_in_time":  "ReadTimeout",
		"by_requests": []any{
			`POST /echo mine application/json {"by": "requests"}`, "GET /echo the session's", int64(http.StatusNotFound), "no such thing\n",
		},
		"async_httpx": []any{"GET /echo mine", "POST /echo application/json [1]"},
		"by_pykube":   []any{[]any{"child"}, map[string]any{"by": "pykube", "more": "yes"}, nil},
	} {
		if diff := cmp.Diff(want, s.uses(t, strings.ReplaceAll(by, "_", "-"), by, server.URL)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", by, diff)
		}
	}
	for _, by := range []string{"by_urllib", "by_urllib3", "by_requests", "by_httpx", "async_httpx"} {
		name := "refused-" + strings.ReplaceAll(by, "_", "-")
		s.create(t, name, fmt.Sprintf(`{by: %s, url: %q}`, by, ungranted.URL))
		op.says(t, name, "the operator is not granted to reach "+ungranted.URL+": --allow-host "+ungranted.URL)
	}
	s.create(t, "refused-pykube", "{by: secrets_by_pykube}")
	op.says(t, "refused-pykube", "the operator is not granted to list secrets: --allow-kubernetes 'list:secrets:*'")
	_ = s.uses(t, "watch", "watched_by_pykube", "")
	op.says(t, "watch", "guests cannot watch through calls: register a handler")
	s.create(t, "serves", "{by: serves}")
	op.says(t, "serves", "the host serves probes (--liveness)")
}

// TestKubernetesClient: the official client reaches what is granted, and nothing else.
func TestKubernetesClient(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	op := s.start(t, withPackages(t, options{calls: allowing(t, "create,get,list,patch,delete:persistentvolumeclaims", "list:kopfexamples.kopf.dev")}, "cluster"))
	if got := fmt.Sprint(s.uses(t, "unconfigured", "unconfigured", "")); got != "0" { // before another call configures the client
		t.Errorf("a client without a configuration gets %s", got)
	}
	want := []any{"Pending", []any{[]any{"claim", map[string]any{"a": "b"}}}, int64(http.StatusNotFound), "Not Found"}
	if diff := cmp.Diff(want, s.uses(t, "claims", "claims", "")); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"claims", "custom", "unconfigured"}, s.uses(t, "custom", "custom", "")); diff != "" {
		t.Errorf("custom objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{[]any{"claims", "custom", "dynamic", "unconfigured"}, int64(0)}, s.uses(t, "dynamic", "dynamic", "")); diff != "" {
		t.Errorf("a dynamic client (-want +got):\n%s", diff)
	}
	s.create(t, "secrets", "{by: secrets}")
	op.says(t, "secrets", "the operator is not granted to list secrets in "+s.namespace+": --allow-kubernetes list:secrets")
}

// TestClientLibrariesOfLoops: aiohttp and kubernetes_asyncio reach what is granted, and nothing
// else, also by clients that a startup handler has made.
func TestClientLibrariesOfLoops(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(webHandler())
	t.Cleanup(server.Close)
	ungranted := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request that is not granted arrived") }))
	t.Cleanup(ungranted.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := newSpace(t)
	op := s.start(t, withPackages(t, options{calls: allowing(t, server.URL, gone.URL, "create,get,list,patch,delete:configmaps", "list,patch:kopfexamples.kopf.dev")}, "aio"))
	for by, want := range map[string]any{
		"exchanged":    []any{"GET /echo mine", "POST /echo mine application/json [1]", int64(http.StatusNotFound), "Not Found", int64(http.StatusNotFound)},
		"kept":         []any{"GET /echo the session's", "GET /echo the session's"},
		"sent":         []any{[]any{"PUT /echo application/octet-stream onetwo"}, int64(2_000_000)},
		"late":         []any{"TimeoutError", "SocketTimeoutError"},
		"redirected":   "GET /echo",
		"unconfigured": int64(0),
		"maps":         []any{"child", []any{[]any{"child", map[string]any{"by": "aio", "more": "yes"}}}, int64(http.StatusNotFound), "Not Found"},
	} {
		if diff := cmp.Diff(want, s.uses(t, by, by, server.URL)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", by, diff)
		}
	}
	if got := s.uses(t, "absent", "absent", gone.URL); got != true {
		t.Errorf("a server that is gone: got %v", got)
	}
	if got, _ := s.uses(t, "custom", "custom", "").([]any); len(got) != 2 || !cmp.Equal(got[1], map[string]any{"a": "b"}) {
		t.Errorf("custom objects: got %v", got)
	}
	for by, says := range map[string]string{
		"exchanged": "the operator is not granted to reach " + ungranted.URL + ": --allow-host " + ungranted.URL,
		"kept":      "the operator is not granted to reach " + ungranted.URL + ": --allow-host " + ungranted.URL,
		"secrets":   "the operator is not granted to list secrets in " + s.namespace + ": --allow-kubernetes list:secrets",
		"watched":   "guests cannot watch through calls: register a handler",
		"upgraded":  "a connection of websocket to 127.0.0.1: the sandbox has no connections",
	} {
		s.create(t, "refused-"+by, fmt.Sprintf(`{by: %s, url: %q}`, by, ungranted.URL))
		op.says(t, "refused-"+by, says)
	}
}
