package e2e_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/operator"
)

// allowing are grants of requests, as flags have them: hosts have a scheme.
func allowing(t *testing.T, texts ...string) operator.Calls {
	t.Helper()
	var g operator.Grants
	for _, text := range texts {
		if strings.Contains(text, "://") {
			host, err := operator.ParseHost(text)
			if err != nil {
				t.Fatal(err)
			}
			g.Hosts = append(g.Hosts, host)
			continue
		}
		rule, err := operator.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		g.Kubernetes = append(g.Kubernetes, rule)
	}
	return operator.Calls{Grants: g}
}

// requests lets the guest make requests, and returns how they ended, as lines.
func (s space) requests(t *testing.T, name string, steps ...string) []string {
	t.Helper()
	s.create(t, name, "{do: ["+strings.Join(steps, ", ")+"]}")
	object := s.handled(t, name)
	list, found, err := unstructured.NestedSlice(object.Object, "status", "requests")
	if err != nil || !found {
		t.Fatalf("there is no result of the requests: %v, %v", object.Object["status"], err)
	}
	lines := make([]string, len(list))
	for i, item := range list {
		lines[i] = summary(item.(map[string]any))
	}
	return lines
}

// summary is the end of one request in one line.
func summary(result map[string]any) string {
	for _, key := range []string{"refused", "failed", "error"} {
		if result[key] != nil {
			return strings.TrimSpace(fmt.Sprint(result[key], " ", or(result["kind"]), " ", or(result["message"])))
		}
	}
	if object, ok := result["ok"].(map[string]any); ok && object["kind"] != nil {
		return fmt.Sprintf("%s %s %v", object["kind"], (&unstructured.Unstructured{Object: object}).GetName(), or(object["data"]))
	}
	text, err := json.Marshal(result["ok"])
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func or(value any) any {
	if value == nil {
		return ""
	}
	return value
}

func begins(t *testing.T, got, want []string) {
	t.Helper()
	for i := range got {
		if i < len(want) && strings.HasPrefix(got[i], want[i]) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends of the requests (-want +got):\n%s", diff)
	}
}

// chosen adds the guest to options.
type chosen func(options) options

// eachCaller runs a test with the guest caller in each language.
func eachCaller(t *testing.T, test func(t *testing.T, caller chosen)) {
	t.Parallel()
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		test(t, func(o options) options { o.guest = "caller"; return o })
	})
	t.Run("rust", func(t *testing.T) {
		t.Parallel()
		module := built(t, "rust-caller")
		test(t, func(o options) options { o.module = module; return o })
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		by := pythonEngine(t)
		test(t, func(o options) options { return pythonCaller(o, by) })
	})
	t.Run("python, blocking", func(t *testing.T) {
		t.Parallel()
		by := pythonEngine(t)
		test(t, func(o options) options {
			o = pythonCaller(o, by)
			o.config["blocking"] = "yes"
			return o
		})
	})
}

// settled waits until the new namespace has the config map that Kubernetes writes
// into each one, so that lists do not depend on when.
func (s space) settled(t *testing.T) {
	t.Helper()
	s.eventually(t, func() error {
		_, err := s.client(configMaps).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
}

const maps = `version: v1, plural: configmaps`

func configMap(name, rest string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {%s}}`, name, rest)
}

// TestGuestReachesKubernetes: every verb of the client, and the errors of the API as typed ones (G7).
func TestGuestReachesKubernetes(t *testing.T) { eachCaller(t, guestReachesKubernetes) }

func guestReachesKubernetes(t *testing.T, caller chosen) {
	s := newSpace(t)
	s.settled(t)
	s.start(t, caller(options{calls: allowing(t, "*:configmaps")}))
	got := s.requests(t, "verbs",
		`{verb: get, name: a, `+maps+`}`,
		`{verb: create, object: `+configMap("a", "x: '1'")+`, `+maps+`}`,
		`{verb: create, object: `+configMap("a", "x: '1'")+`, `+maps+`}`,
		`{verb: patch, name: a, object: {data: {second: '2'}}, `+maps+`}`,
		`{verb: edit, name: a, object: [{op: remove, path: /data/x}], `+maps+`}`,
		`{verb: update, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: '1'}}, `+maps+`}`,
		`{verb: update, object: `+configMap("a", "z: '3'")+`, `+maps+`}`,
		`{verb: apply, object: `+configMap("a", "z: '4'")+`, `+maps+`}`,
		`{verb: apply, force: true, object: `+configMap("a", "z: '4'")+`, `+maps+`}`,
		`{verb: apply, object: `+configMap("b", "z: '5'")+`, `+maps+`}`,
		`{verb: create, object: `+configMap("'NOT VALID'", "")+`, `+maps+`}`,
		`{verb: list, page: 1, `+maps+`}`,
		`{verb: delete, name: a, uid: another-uid, `+maps+`}`,
		`{verb: delete, name: a, `+maps+`}`,
		`{verb: get, name: a, `+maps+`}`,
	)
	begins(t, got, []string{
		`404 not found configmaps "a" not found`,
		`ConfigMap a map[x:1]`,
		`409 already exists configmaps "a" already exists`,
		`ConfigMap a map[second:2 x:1]`,
		`ConfigMap a map[second:2]`,
		`409 conflict `,
		`ConfigMap a map[z:3]`,
		`409 conflict Apply failed with 1 conflict: conflict`,
		`ConfigMap a map[z:4]`,
		`ConfigMap b map[z:5]`,
		`422 invalid ConfigMap "NOT VALID" is invalid`,
		`["a","b","kube-root-ca.crt"]`,
		`409 conflict `,
		`null`,
		`404 not found configmaps "a" not found`,
	})
	b, err := s.client(configMaps).Get(t.Context(), "b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if fields := b.GetManagedFields(); len(fields) != 1 || fields[0].Manager != "caller" {
		t.Errorf("the applied object is owned by %v", fields)
	}
}

// TestGuestIsNotGranted: what is not granted does not reach the API server, and the error says how to grant it (A4).
func TestGuestIsNotGranted(t *testing.T) { eachCaller(t, guestIsNotGranted) }

func guestIsNotGranted(t *testing.T, caller chosen) {
	s := newSpace(t)
	s.settled(t)
	s.start(t, caller(options{calls: allowing(t, "get,list:configmaps", "get:secrets:elsewhere", "get:nodes")}))
	got := s.requests(t, "refused",
		`{verb: list, `+maps+`}`,
		`{verb: create, object: `+configMap("a", "")+`, `+maps+`}`,
		`{verb: get, name: x, namespace: kube-system, `+maps+`}`,
		`{verb: list, namespace: '', `+maps+`}`,
		`{verb: get, name: x, version: v1, plural: secrets}`,
		`{verb: get, name: x, version: v1, plural: nodes, namespace: ''}`,
		`{verb: get, name: x, subresource: log, version: v1, plural: pods}`,
		`{verb: get, name: x, subresource: exec, version: v1, plural: pods}`,
		`{verb: get, name: x, version: v1, plural: 'configmaps/../secrets'}`,
		`{verb: get, name: x, version: v1, plural: '%2e%2e/secrets'}`,
		`{verb: list, version: v1, plural: watch/configmaps, namespace: ''}`,
		`{fetch: {url: "https://example.com/"}}`,
	)
	begins(t, got, []string{
		`["kube-root-ca.crt"]`,
		"NotGranted  the operator is not granted to create configmaps in " + s.namespace + ": --allow-kubernetes create:configmaps",
		"NotGranted  the operator is not granted to get configmaps in kube-system: --allow-kubernetes get:configmaps:kube-system",
		"NotGranted  the operator is not granted to list configmaps: --allow-kubernetes 'list:configmaps:*'",
		"NotGranted  the operator is not granted to get secrets in " + s.namespace + ": --allow-kubernetes get:secrets:" + s.namespace,
		"NotGranted  the operator is not granted to get nodes: --allow-kubernetes 'get:nodes:*'",
		"NotGranted  the operator is not granted to get pods/log in " + s.namespace + ": --allow-kubernetes get:pods/log",
		"Invalid  invalid call: the subresource pods/exec leads out of the API",
		`Invalid  invalid call: the path`,
		`Invalid  invalid call: the path`,
		`Invalid  invalid call: guests cannot watch`,
		"NotGranted  the operator is not granted to reach example.com: --allow-host example.com",
	})
}

// TestRightsOfTheOperatorHold: a grant gives no right that the operator has not.
func TestRightsOfTheOperatorHold(t *testing.T) { eachCaller(t, rightsOfTheOperatorHold) }

func rightsOfTheOperatorHold(t *testing.T, caller chosen) {
	s := newSpace(t)
	config := rest.CopyConfig(s.RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: "limited-" + s.namespace}
	s.ApplyIn(t, s.namespace, fmt.Sprintf(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: limited}, rules: [
  {apiGroups: [kopf.dev], resources: [kopfexamples], verbs: [get, list, watch, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: limited},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: limited}, subjects: [{kind: User, name: %q}]}`, config.Impersonate.UserName))
	s.start(t, caller(options{calls: allowing(t, "*:*:*"), rest: config}))
	got := s.requests(t, "limited", `{verb: list, `+maps+`}`)
	begins(t, got, []string{`403 forbidden configmaps is forbidden: User "limited-`})
}

// TestGuestReachesHosts: requests to HTTP servers, and their limits (G8).
func TestGuestReachesHosts(t *testing.T) { eachCaller(t, guestReachesHosts) }

func guestReachesHosts(t *testing.T, caller chosen) {
	s := newSpace(t)
	server := httptest.NewTLSServer(webHandler())
	t.Cleanup(server.Close)
	ungranted := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request that is not granted arrived") }))
	t.Cleanup(ungranted.Close)
	calls := allowing(t, server.URL)
	calls.TLS = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	calls.MaxResponse = 1 << 20
	s.start(t, caller(options{calls: calls}))
	fetch := func(rest string) string {
		return fmt.Sprintf(`{fetch: {%s}}`, strings.ReplaceAll(rest, "URL", server.URL))
	}
	got := s.requests(t, "web",
		fetch(`url: "URL/echo", header: {X-Own: mine}`),
		fetch(`url: "URL/echo", body: some text`),
		fetch(`url: "URL/echo", body: {a: [1]}`),
		fetch(`url: "URL/echo", method: PUT, binary: true`),
		fetch(`url: "URL/large"`),
		fetch(`url: "URL/slow", timeout: 0.3`),
		fetch(`url: "URL/to?URL/echo"`),
		fetch(`url: "URL/to?`+ungranted.URL+`"`),
		fetch(`url: "URL/echo", header: {Host: other}`),
		fetch(`url: "URL/status"`),
		fetch(`url: "http://user:pass@127.0.0.1/"`),
	)
	begins(t, got, []string{
		`{"body":"GET /echo mine","size":14,`,
		`{"body":"POST /echo some text","size":20,`,
		`{"body":"POST /echo application/json {\"a\":[1]}",`,
		`{"body":"PUT /echo \u0000`,
		`TooLarge  GET ` + server.URL + `/large: the answer has more than 1048576 bytes`,
		`Timeout  GET ` + server.URL + `/slow: no answer within 300ms`,
		`{"body":"GET /echo",`,
		`NotGranted  the operator is not granted to reach ` + ungranted.URL + `: --allow-host ` + ungranted.URL,
		`Invalid  invalid call: the header Host belongs to the host`,
		`{"body":"no such thing\n","size":14,"status":404,`,
		`Invalid  invalid call: the URL of a call cannot have a user`,
	})
}

func webHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		parts := []string{r.Method, r.URL.Path}
		for _, text := range []string{r.Header.Get("X-Own"), r.Header.Get("Content-Type"), string(body)} {
			if text != "" {
				parts = append(parts, text)
			}
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		fmt.Fprint(w, strings.Join(parts, " "))
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		for range 20 {
			fmt.Fprint(w, strings.Repeat("x", 100_000))
		}
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.RawQuery, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such thing", http.StatusNotFound) })
	return mux
}

// TestRequestIsAbandoned: a request ends with the daemon that waits for it.
func TestRequestIsAbandoned(t *testing.T) { eachCaller(t, requestIsAbandoned) }

func requestIsAbandoned(t *testing.T, caller chosen) {
	s := newSpace(t)
	arrived, left := make(chan struct{}, 1), make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	}))
	t.Cleanup(server.Close)
	r := s.start(t, caller(options{config: map[string]string{"register": "daemon"}, calls: allowing(t, server.URL)}))
	s.create(t, "waits", fmt.Sprintf(`{do: [{fetch: {url: %q}}]}`, server.URL))
	<-arrived
	s.held(t, "waits")
	s.remove(t, "waits")
	<-left
	r.says(t, "waits", "the request of the daemon was cancelled code=Cancelled cancelled=true")
	s.gone(t, "waits")
}

// TestWantedIsGrantedOrRefused: an operator does not start without what it wants.
func TestWantedIsGrantedOrRefused(t *testing.T) { eachCaller(t, wantedIsGrantedOrRefused) }

func wantedIsGrantedOrRefused(t *testing.T, caller chosen) {
	const want = `{"kubernetes":[{"groups":["","apps"],"resources":["pods"],"verbs":["get","list"]}],"http":["*.example.com"]}`
	s := newSpace(t)
	config := map[string]string{"want": want}
	for _, tt := range []struct {
		name  string
		calls operator.Calls
		all   bool
		fails []string
	}{
		{"nothing", operator.Calls{}, false, []string{"wants more than it is granted", "--allow-wanted", "--allow-kubernetes get,list:pods,pods.apps", "--allow-host '*.example.com'"}},
		{"a part", allowing(t, "*:pods", "https://*"), false, []string{"--allow-kubernetes get,list:pods.apps"}},
		{"as wanted", operator.Calls{}, true, nil},
		{"more", allowing(t, "*:*:x", "https://*"), false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, ready := s.launch(t, caller(options{config: config, calls: tt.calls, wanted: tt.all}))
			if tt.fails == nil {
				<-ready
				r.stop(t)
				return
			}
			<-r.ended
			for _, text := range tt.fails {
				if r.err == nil || !strings.Contains(r.err.Error(), text) {
					t.Errorf("the error lacks %q: %v", text, r.err)
				}
			}
		})
	}
}

// TestStartupHandlersMakeRequests: operators of Kopf create their definitions in them, for example.
func TestStartupHandlersMakeRequests(t *testing.T) { eachCaller(t, startupHandlersMakeRequests) }

func startupHandlersMakeRequests(t *testing.T, caller chosen) {
	s := newSpace(t)
	r, ready := s.launch(t, caller(options{config: map[string]string{"register": "startup"}, calls: allowing(t, "*:*:*")}))
	select {
	case <-ready:
		r.stop(t)
	case <-r.ended:
		t.Errorf("the operator ended with: %v", r.err)
	}
	refused, _ := s.launch(t, caller(options{config: map[string]string{"register": "startup"}}))
	<-refused.ended
	if refused.err == nil || !strings.Contains(refused.err.Error(), "not granted") {
		t.Errorf("without a grant, the operator ended with: %v", refused.err)
	}
}
