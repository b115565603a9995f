package apipath_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

func TestPathsOfTargets(t *testing.T) {
	for _, tt := range []struct {
		target apipath.Target
		want   apipath.Path
	}{
		{apipath.Target{Version: "v1"}, "/api/v1"},
		{apipath.Target{Group: "kopf.dev", Version: "v1beta1"}, "/apis/kopf.dev/v1beta1"},
		{apipath.Target{Version: "v1", Plural: "pods"}, "/api/v1/pods"},
		{apipath.Target{Version: "v1", Namespace: "ns", Plural: "pods"}, "/api/v1/namespaces/ns/pods"},
		{apipath.Target{Version: "v1", Namespace: "ns", Plural: "pods", Name: "a.b"}, "/api/v1/namespaces/ns/pods/a.b"},
		{apipath.Target{Version: "v1", Plural: "namespaces", Name: "ns", Subresource: "status"}, "/api/v1/namespaces/ns/status"},
		{apipath.Target{Group: "g", Version: "v1", Plural: "ks", Name: "n", Subresource: "scale"}, "/apis/g/v1/ks/n/scale"},
		{apipath.Target{Group: "custom.metrics.k8s.io", Version: "v1beta1", Plural: "jobs.batch", Name: "n", Subresource: "http_requests"}, "/apis/custom.metrics.k8s.io/v1beta1/jobs.batch/n/http_requests"},
		{apipath.Target{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "clusterroles", Name: "system:node"}, "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"},
		{apipath.Target{Version: "v1", Plural: "ks", Name: "a?b#c d&é"}, "/api/v1/ks/a%3Fb%23c%20d&%C3%A9"},
	} {
		if got, err := apipath.Of(tt.target); got != tt.want || err != nil {
			t.Errorf("%+v: got %q, %v; want %q", tt.target, got, err, tt.want)
		}
	}
}

func TestIncompleteTargetsAreRefused(t *testing.T) {
	for _, target := range []apipath.Target{
		{},
		{Group: "g", Plural: "ks"},
		{Version: "v1", Name: "n"},
		{Version: "v1", Namespace: "ns"},
		{Version: "v1", Plural: "ks", Subresource: "status"},
	} {
		if path, err := apipath.Of(target); !errors.Is(err, apipath.ErrIncomplete) || path != "" {
			t.Errorf("%+v: got %q, %v", target, path, err)
		}
	}
}

// hostile are texts that would change the target of a path without checks.
var hostile = []string{
	"..", ".", "../x", "x/..", "x/../../y", "/", "//evil.example", "x/y", "x%2fy", "%2e%2e", "%", "%00",
	"prod/services/admin:80/proxy/shutdown?x=", "prod/serviceaccounts/admin/token?x=",
	"../../../apis/rbac.authorization.k8s.io/v1/clusterrolebindings?x=",
	"x\x00", "x\r\nHost: evil", "x\ny", "\t", "x\x7f", "x\u0085y", "\xff", "x\xc0\xaf", strings.Repeat("x", 5000),
}

// odd are texts that are valid as names only.
var odd = []string{"x?y", "x#y", "x y", "X", "é", "\u2215", "\u202e", "a:b", "x;y", "x&y", "-x", "x_", "*", `\`, `..\x`, "...", strings.Repeat("x", 300)}

// fill sets one part of a target in which all other parts are valid.
var fill = map[string]func(t *apipath.Target, text string){
	"group":       func(t *apipath.Target, text string) { t.Group = text },
	"version":     func(t *apipath.Target, text string) { t.Version = text },
	"namespace":   func(t *apipath.Target, text string) { t.Namespace = text },
	"resource":    func(t *apipath.Target, text string) { t.Plural = text },
	"name":        func(t *apipath.Target, text string) { t.Name = text },
	"subresource": func(t *apipath.Target, text string) { t.Subresource = text },
}

func right() apipath.Target {
	return apipath.Target{Group: "g.dev", Version: "v1", Namespace: "ns", Plural: "ks", Name: "n", Subresource: "status"}
}

func TestHostilePartsAreRefused(t *testing.T) {
	for part, put := range fill {
		refused := hostile
		if part != "name" && part != "subresource" {
			refused = slices.Concat(hostile, odd)
		}
		for _, text := range refused {
			target := right()
			put(&target, text)
			path, err := apipath.Of(target)
			if err == nil || path != "" {
				t.Errorf("%s %.50q: got the path %q", part, text, path)
				continue
			}
			if message := err.Error(); !strings.Contains(message, part) || len(message) > 700 || strings.ContainsAny(message, "\r\n\x00") {
				t.Errorf("%s %.50q: the error is %q", part, text, message)
			}
		}
	}
}

// Most parts are accepted without the expressions of the API server, so all short ones are compared with them.
func TestPartsAreAcceptedAsByTheServer(t *testing.T) {
	rules := map[string]func(string) []string{
		"group": validation.IsDNS1123Subdomain, "resource": validation.IsDNS1123Subdomain, "subresource": validation.IsDNS1123Subdomain,
		"version": validation.IsDNS1035Label, "namespace": validation.IsDNS1123Label, "name": content.IsPathSegmentName,
	}
	const letters, longest = "az09-.", 5
	texts := []string{strings.Repeat("a", 63), strings.Repeat("a", 64)}
	for layer := []string{""}; len(layer[0]) < longest; {
		var next []string
		for _, text := range layer {
			for _, letter := range letters {
				next = append(next, text+string(letter))
			}
		}
		texts, layer = append(texts, next...), next
	}
	for part, put := range fill {
		for _, text := range texts {
			target := right()
			put(&target, text)
			_, err := apipath.Of(target)
			if problems := rules[part](text); (err == nil) != (len(problems) == 0) {
				t.Errorf("%s %q: %v, but the rules say %q", part, text, err, problems)
			}
		}
	}
}

func TestCheckedNames(t *testing.T) {
	for _, text := range append([]string{""}, hostile...) {
		if apipath.CheckName(text) == nil || apipath.CheckNamespace(text) == nil {
			t.Errorf("%.50q is taken for a name", text)
		}
	}
	if err := errors.Join(apipath.CheckName("system:node"), apipath.CheckNamespace("kube-system")); err != nil {
		t.Error(err)
	}
}

// FuzzOf checks that each part of a target stays in its own segment of the path.
func FuzzOf(f *testing.F) {
	for _, text := range slices.Concat(hostile, odd) {
		f.Add(text, text, text, text, text, text)
		f.Add("g.dev", "v1", "ns", "ks", text, "status")
	}
	f.Fuzz(func(t *testing.T, group, version, namespace, plural, name, subresource string) {
		target := apipath.Target{Group: group, Version: version, Namespace: namespace, Plural: plural, Name: name, Subresource: subresource}
		path, err := apipath.Of(target)
		if err != nil {
			return
		}
		parsed, err := url.Parse("https://host" + string(path))
		if err != nil || parsed.Host != "host" || parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
			t.Fatalf("%+v: %q is the URL %+v, %v", target, path, parsed, err)
		}
		want := []string{"", "api"}
		if group != "" {
			want = []string{"", "apis", group}
		}
		want = append(want, version)
		if namespace != "" {
			want = append(want, "namespaces", namespace)
		}
		for _, text := range []string{plural, name, subresource} {
			if text != "" {
				want = append(want, text)
			}
		}
		if got := strings.Split(parsed.Path, "/"); !slices.Equal(got, want) || parsed.JoinPath().Path != parsed.Path {
			t.Fatalf("%+v: the server gets %q", target, got)
		}
	})
}
