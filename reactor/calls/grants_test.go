package calls

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-wasm/kopf/abi"
)

func grantsOf(t *testing.T, texts ...string) (g Grants) {
	t.Helper()
	for _, text := range texts {
		if rule, err := ParseRule(text); err == nil {
			g.Kubernetes = append(g.Kubernetes, rule)
		} else if host, err := ParseHost(text); err == nil {
			g.Hosts = append(g.Hosts, host)
		} else {
			t.Fatalf("%q is neither a rule nor a host: %v", text, err)
		}
	}
	return g
}

func TestParseRule(t *testing.T) {
	tests := []struct{ name, text, want, fails string }{
		{"one", "get:pods", "get:pods", ""},
		{"several", "get,list:pods,deployments.apps/scale:a,b-*", "get,list:pods,deployments.apps/scale:a,b-*", ""},
		{"all", "*:*:*", "*:*:*", ""},
		{"a group", "*:*.apps", "*:*.apps", ""},
		{"nothing", "", "", "want VERBS:RESOURCES"},
		{"no resources", "get", "", "want VERBS:RESOURCES"},
		{"too much", "get:pods:a:b", "", "want VERBS:RESOURCES"},
		{"watch", "get,watch:pods", "", `unknown verb "watch"`},
		{"empty verb", ",get:pods", "", `unknown verb ""`},
		{"empty resource", "get:pods,", "", "without a name"},
		{"empty namespace", "get:pods:", "", "not a pattern of namespaces"},
		{"broken pattern", "get:pods:[a", "", "not a pattern of namespaces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule, err := ParseRule(tt.text)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want one with %q", err, tt.fails)
				}
				return
			}
			if err != nil || rule.String() != tt.want {
				t.Errorf("got %q, %v; want %q", rule, err, tt.want)
			}
		})
	}
}

// TestRequestsToKubernetes checks the attributes of requests, and whether they are
// granted.
func TestRequestsToKubernetes(t *testing.T) {
	core, apps := "/api/v1/namespaces/ns1/", "/apis/apps/v1/namespaces/ns1/"
	tests := []struct {
		name, method, path string
		served             []string
		grants             []string
		want               string // attributes of the request; empty: refused
		fails              string
	}{
		{"get", "GET", core + "pods/x", nil, []string{"get:pods"}, "get pods in ns1", ""},
		{"list", "GET", core + "pods?limit=5", nil, []string{"list:pods"}, "list pods in ns1", ""},
		{"create", "POST", core + "pods", nil, []string{"create:pods"}, "create pods in ns1", ""},
		{"update", "PUT", core + "pods/x", nil, []string{"update:pods"}, "update pods in ns1", ""},
		{"patch a subresource", "PATCH", apps + "deployments/x/scale", nil, []string{"patch:deployments.apps/scale"}, "patch deployments.apps/scale in ns1", ""},
		{"delete", "DELETE", core + "pods/x", nil, []string{"delete:pods"}, "delete pods in ns1", ""},
		{"delete all", "DELETE", core + "pods", nil, []string{"delete:pods"}, "", "not granted to deletecollection pods in ns1"},
		{"star has subresources", "PATCH", apps + "deployments/x/scale", nil, []string{"*:*"}, "patch deployments.apps/scale in ns1", ""},
		{"star of a group", "GET", apps + "deployments/x", nil, []string{"get:*.apps"}, "get deployments.apps in ns1", ""},
		{"other group", "GET", apps + "deployments/x", nil, []string{"get:deployments"}, "", "get:deployments.apps"},
		{"other verb", "PUT", core + "pods/x", nil, []string{"get,patch:pods"}, "", "update:pods"},
		{"without the subresource", "PUT", core + "pods/x/status", nil, []string{"*:pods"}, "", "update:pods/status"},
		{"any resource, one subresource", "PUT", core + "pods/x/status", nil, []string{"*:*.*/status"}, "update pods/status in ns1", ""},

		{"served", "GET", core + "pods/x", []string{"ns*"}, []string{"get:pods"}, "get pods in ns1", ""},
		{"not served", "GET", core + "pods/x", []string{"other"}, []string{"get:pods"}, "", "get:pods:ns1"},
		{"not served but granted", "GET", core + "pods/x", []string{"other"}, []string{"get:pods:ns?"}, "get pods in ns1", ""},
		{"granted elsewhere", "GET", core + "pods/x", nil, []string{"get:pods:ns2"}, "", "get:pods:ns1"},
		{"all namespaces", "GET", "/api/v1/pods", nil, []string{"list:pods"}, "list pods", ""},
		{"all namespaces, some served", "GET", "/api/v1/pods", []string{"ns1"}, []string{"list:pods"}, "", "'list:pods:*'"},
		{"all namespaces, some granted", "GET", "/api/v1/pods", nil, []string{"list:pods:ns1,n*"}, "", "list:pods"},
		{"all namespaces granted", "GET", "/api/v1/pods", []string{"ns1"}, []string{"list:pods:*"}, "list pods", ""},
		{"no namespace", "GET", "/api/v1/nodes/x", nil, []string{"get:nodes"}, "get nodes", ""},
		{"a namespace itself", "GET", "/api/v1/namespaces/ns1", nil, []string{"get:namespaces:ns1"}, "get namespaces in ns1", ""},
		{"its status", "PATCH", "/api/v1/namespaces/ns1/status", nil, []string{"patch:namespaces/status:ns1"}, "patch namespaces/status in ns1", ""},
		{"its end", "PUT", "/api/v1/namespaces/ns1/finalize", nil, []string{"update:namespaces"}, "", "update:namespaces/finalize"},
		{"all namespaces themselves", "GET", "/api/v1/namespaces", nil, []string{"list:namespaces"}, "list namespaces", ""},

		{"watch", "GET", core + "pods?watch=1", nil, []string{"*:*:*"}, "", "cannot watch"},
		{"old watch", "GET", "/api/v1/watch/pods", nil, []string{"*:*:*"}, "", "cannot watch"},
		{"exec", "POST", core + "pods/x/exec", nil, []string{"*:*:*"}, "", "leads out of the API"},
		{"proxy", "GET", core + "services/x/proxy", nil, []string{"*:*:*"}, "", "leads out of the API"},
		{"proxy to a path", "GET", core + "services/x/proxy/a", nil, []string{"*:*:*"}, "", "too deep"},
		{"no resource", "GET", "/healthz", nil, []string{"*:*:*"}, "", "not the path of a resource"},
		{"discovery", "GET", "/apis/apps/v1", nil, []string{"get:pods:other"}, "read /apis/apps/v1", ""},
		{"discovery of the core API", "GET", "/api/v1/", nil, []string{"get:pods"}, "read /api/v1", ""},
		{"discovery of groups", "GET", "/apis", nil, []string{"get:pods"}, "read /apis", ""},
		{"the version of the server", "GET", "/version/", nil, []string{"get:pods"}, "read /version", ""},
		{"discovery without a grant", "GET", "/apis/", nil, nil, "", "not granted to read /apis: any grant"},
		{"discovery of what has no name", "GET", "/apis/a_b/v1", nil, []string{"*:*:*"}, "", "invalid API group"},
		{"discovery with two slashes", "GET", "/apis//", nil, []string{"*:*:*"}, "", `segment ""`},
		{"a root that is written", "POST", "/apis/apps/v1", nil, []string{"*:*:*"}, "", "not the path of a resource"},
		{"below the version", "GET", "/version/x", nil, []string{"*:*:*"}, "", "not the path of a resource"},
		{"method", "OPTIONS", core + "pods", nil, []string{"*:*:*"}, "", "method"},
		{"lower case", "get", core + "pods", nil, []string{"*:*:*"}, "", "method"},
		{"relative", "GET", "api/v1/pods", nil, []string{"*:*:*"}, "", "must begin with /"},
		{"URL", "GET", "https://evil.example/api/v1/pods", nil, []string{"*:*:*"}, "", "must begin with /"},
		{"other host", "GET", "//evil.example/api/v1/pods", nil, []string{"*:*:*"}, "", `segment ""`},
		{"dots", "GET", core + "pods/../secrets/x", nil, []string{"*:*:*"}, "", `segment ".."`},
		{"encoded", "GET", core + "pods%2f..%2fsecrets", nil, []string{"*:*:*"}, "", "segment"},
		{"line break", "GET", core + "pods/x\r\nX: y", nil, []string{"*:*:*"}, "", "segment"},
		{"trailing slash", "GET", core + "pods/", nil, []string{"*:*:*"}, "", "segment"},
		{"broken query", "GET", core + "pods?a=%zz", nil, []string{"*:*:*"}, "", "query"},
		{"namespace in capitals", "GET", "/api/v1/namespaces/NS1/pods", nil, []string{"*:*:*"}, "", "invalid namespace"},
		{"version", "GET", "/api/v1.2/pods", nil, []string{"*:*:*"}, "", "invalid API version"},
		{"group", "GET", "/apis/a_b/v1/pods", nil, []string{"*:*:*"}, "", "invalid API group"},
		{"resource", "GET", "/api/v1/Pods", nil, []string{"*:*:*"}, "", "invalid resource"},
		{"subresource", "GET", core + "pods/x/~y", nil, []string{"*:*:*"}, "", "invalid subresource"},
		{"name of access control", "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", nil, []string{"get:clusterroles.rbac.authorization.k8s.io"}, "get clusterroles.rbac.authorization.k8s.io", ""},
		{"endless", "GET", core + strings.Repeat("x", 9000), nil, []string{"*:*:*"}, "", "8192 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			segments, query, err := parsePath(tt.path)
			var a attributes
			if err == nil {
				a, err = attributesOf(tt.method, segments, query)
			}
			if err == nil {
				err = grantsOf(t, tt.grants...).allows(a, tt.served)
			}
			if asked, _, _ := strings.Cut(tt.path, "?"); err == nil && string(a.path) != strings.TrimSuffix(asked, "/") {
				t.Errorf("the path that is sent is %s, want %s", a.path, asked)
			}
			switch {
			case tt.want != "" && (err != nil || a.String() != tt.want):
				t.Errorf("got %q, %v; want %q", a, err, tt.want)
			case tt.want == "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
				t.Errorf("got %v; want an error with %q", err, tt.fails)
			}
		})
	}
}

func TestHosts(t *testing.T) {
	tests := []struct {
		name, grant, url string
		allowed          bool
	}{
		{"itself", "example.com", "https://example.com/x?y", true},
		{"its port", "example.com", "https://example.com:443/", true},
		{"case and final dot", "Example.com", "https://EXAMPLE.com./", true},
		{"plain HTTP", "example.com", "http://example.com/", false},
		{"granted HTTP", "http://example.com", "http://example.com/", true},
		{"other port", "example.com", "https://example.com:8443/", false},
		{"granted port", "example.com:8443", "https://example.com:8443/", true},
		{"below", "example.com", "https://a.example.com/", false},
		{"pattern", "*.example.com", "https://a.b.example.com/", true},
		{"not the domain itself", "*.example.com", "https://example.com/", false},
		{"not its namesakes", "*.example.com", "https://badexample.com/", false},
		{"all", "*", "https://anything.test/", true},
		{"user in the name", "example.com", "https://example.com@evil.test/", false},
		{"user", "example.com", "https://me:pass@example.com/", false},
		{"backslash", "example.com", `https://evil.test\@example.com/`, false},
		{"star as a name", "*", "https://*/", false},
		{"other scheme", "*", "ftp://example.com/", false},
		{"no scheme", "*", "example.com/", false},
		{"zone", "*", "https://[fe80::1%25eth0]/", false},
		{"IPv6", "[2001:db8::1]", "https://[2001:DB8:0::1]/", true},
		{"international", "*", "https://bücher.example/", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			host, err := ParseHost(tt.grant)
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(tt.url)
			if err == nil {
				err = Grants{Hosts: []Host{host}}.allowsURL(u)
			}
			if (err == nil) != tt.allowed {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, text := range []string{"", "a b", "https://example.com/path", "user@example.com", "a.*.com", "ex*mple.com", "ftp://x", "x?y", "*.*.com"} {
		if host, err := ParseHost(text); err == nil {
			t.Errorf("%q is taken for the host %v", text, host)
		}
	}
}

func TestTrust(t *testing.T) {
	g := grantsOf(t, "*", "example.com", "http://localhost", "127.0.0.1:9443")
	for host, want := range map[string]trust{
		"other.test:443": publicOnly, "example.com:443": named, "example.com:80": publicOnly,
		"localhost:80": loopback, "localhost:443": publicOnly, "127.0.0.1:9443": literal, "127.0.0.1:443": publicOnly,
	} {
		name, port, _ := strings.Cut(host, ":")
		if got := g.trustIn(name, port); got != want {
			t.Errorf("%s is trusted as %d, want %d", host, got, want)
		}
	}
}

func TestMissing(t *testing.T) {
	wanted, err := Wanted(&abi.Capabilities{
		Kubernetes: []abi.KubernetesRule{
			{Groups: []string{"", "apps"}, Resources: []string{"pods", "deployments/scale"}, Verbs: []string{"get", "patch"}},
			{Groups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}, Namespaces: []string{"*"}},
		},
		HTTP: []string{"a.example.com", "*.example.org"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		grants []string
		want   []string
	}{
		{"nothing", nil, []string{
			"--allow-kubernetes get,patch:pods,deployments/scale,pods.apps,deployments.apps/scale",
			"--allow-kubernetes 'list:nodes:*'", "--allow-host a.example.com", "--allow-host '*.example.org'",
		}},
		{"a part", []string{"*:*.apps", "get:pods:ns1", "*:nodes", "*.example.com"}, []string{
			"--allow-kubernetes patch:pods", "--allow-kubernetes get,patch:deployments/scale", "--allow-host '*.example.org'",
		}},
		{"all", []string{"*:*:*", "*"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := grantsOf(t, tt.grants...).Missing(wanted).Flags()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBrokenWishes: the error names the rule, and what is wrong in it.
func TestBrokenWishes(t *testing.T) {
	core, pods, get := []string{""}, []string{"pods"}, []string{"get"}
	right := abi.KubernetesRule{Groups: core, Resources: pods, Verbs: get}
	for want, c := range map[string]*abi.Capabilities{
		`rule 2 for Kubernetes: unknown verb "watch"`:                           {Kubernetes: []abi.KubernetesRule{right, {Groups: core, Resources: pods, Verbs: []string{"watch"}}}},
		`rule 1 for Kubernetes: a rule needs groups, resources and verbs`:       {Kubernetes: []abi.KubernetesRule{{Resources: pods, Verbs: get}, right}},
		`the group of pods and other core resources is ""`:                      {Kubernetes: []abi.KubernetesRule{{Groups: core, Verbs: get}}},
		`rule 3 for Kubernetes: a rule needs groups, resources and verbs; the `: {Kubernetes: []abi.KubernetesRule{right, right, {Groups: core, Resources: pods}}},
		`https://a/b`: {HTTP: []string{"https://a/b"}},
	} {
		if _, err := Wanted(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
}

// TestManyWantedResources: the names of a few kilobytes may mean millions of resources.
func TestManyWantedResources(t *testing.T) {
	names := make([]string, 4000)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	for name, tt := range map[string]struct {
		rules []abi.KubernetesRule
		hosts []string
		fails string
	}{
		"groups and resources": {rules: []abi.KubernetesRule{{Groups: names, Resources: names, Verbs: []string{"get"}}}, fails: "a rule wants 1 verbs for 16000000 resources"},
		"verbs":                {rules: []abi.KubernetesRule{{Groups: names[:1], Resources: names[:1], Verbs: slices.Repeat([]string{"get"}, 9)}}, fails: "a rule wants 9 verbs"},
		"namespaces":           {rules: []abi.KubernetesRule{{Groups: names[:1], Resources: names[:1], Verbs: []string{"get"}, Namespaces: names}}, fails: "in 4000 namespaces"},
		"namespaces of rules":  {rules: slices.Repeat([]abi.KubernetesRule{{Groups: names[:1], Resources: names[:1], Verbs: []string{"get"}, Namespaces: names[:100]}}, 11), fails: "the rules want more than 1000 resources or namespaces"},
		"long namespaces":      {rules: []abi.KubernetesRule{{Groups: names[:1], Resources: names[:1], Verbs: []string{"get"}, Namespaces: []string{strings.Repeat("*a", 127)}}}, fails: "at most 253 bytes"},
		"rules":                {rules: slices.Repeat([]abi.KubernetesRule{{Groups: names[:10], Resources: names[:10], Verbs: []string{"get"}}}, 11), fails: "the rules want more than 1000 resources or namespaces"},
		"hosts":                {hosts: names, fails: "4000 hosts are wanted"},
		"as many as may be":    {rules: slices.Repeat([]abi.KubernetesRule{{Groups: names[:10], Resources: names[:10], Verbs: []string{"get"}}}, 10), hosts: names[:1000]},
	} {
		_, err := Wanted(&abi.Capabilities{Kubernetes: tt.rules, HTTP: tt.hosts})
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPatternsCountAsComputing: a guest chooses what it wants, and makes as many requests as it likes that are not granted. The rate of
// requests does not hold these.
func TestPatternsCountAsComputing(t *testing.T) {
	patterns := make([]string, 100)
	for i := range patterns {
		patterns[i] = "*" + strings.Repeat("?", 32) + "b"
	}
	for _, tt := range []struct {
		name    string
		rules   []Rule
		counted int
	}{
		{"few", []Rule{{[]string{"list"}, []Resource{{Plural: "pods"}}, []string{"team-*"}}}, 0},
		{"many", []Rule{{[]string{"list"}, []Resource{{Plural: "pods"}}, patterns}}, 1},
	} {
		counted := 0
		c := caller(t, Options{Grants: Grants{Kubernetes: tt.rules}, Compute: func(_ context.Context, do func()) {
			counted++
			do()
		}})
		answer := c.Call(t.Context(), &abi.Call{Target: abi.TargetKubernetes, Method: "GET", Path: "/api/v1/namespaces/" + strings.Repeat("a", 63) + "/pods"}, "", nil)
		if codeOf(answer) != abi.CallNotGranted || counted != tt.counted {
			t.Errorf("%s: %+v, counted %d times", tt.name, answer.Error, counted)
		}
	}
}
