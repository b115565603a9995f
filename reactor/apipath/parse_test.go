package apipath_test

import (
	"testing"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

func TestTargetsOfPaths(t *testing.T) {
	for path, want := range map[string]apipath.Target{
		"/api/v1/namespaces":                              {Version: "v1", Plural: "namespaces"},
		"/api/v1/namespaces/ns":                           {Version: "v1", Plural: "namespaces", Name: "ns"},
		"/api/v1/namespaces/ns/status":                    {Version: "v1", Plural: "namespaces", Name: "ns", Subresource: "status"},
		"/api/v1/namespaces/ns/pods":                      {Version: "v1", Plural: "pods", Namespace: "ns"},
		"/api/v1/namespaces/ns/services/s/proxy/x/y":      {Version: "v1", Plural: "services", Namespace: "ns", Name: "s", Subresource: "proxy"},
		"/api/v1/namespaces/apis/pods/p/status":           {Version: "v1", Plural: "pods", Namespace: "apis", Name: "p", Subresource: "status"},
		"/api/c/api/v1/namespaces/ns/pods":                {Version: "v1", Plural: "pods", Namespace: "ns"},
		"/apis/kopf.dev/v1/namespaces/api/widgets/w":      {Group: "kopf.dev", Version: "v1", Plural: "widgets", Namespace: "api", Name: "w"},
		"/k8s/c/api/v1/namespaces/ns/pods/p/log":          {Version: "v1", Plural: "pods", Namespace: "ns", Name: "p", Subresource: "log"},
		"/apis/kopf.dev/v1/widgets":                       {Group: "kopf.dev", Version: "v1", Plural: "widgets"},
		"/apis/kopf.dev/v1/namespaces/ns/widgets/w/scale": {Group: "kopf.dev", Version: "v1", Plural: "widgets", Namespace: "ns", Name: "w", Subresource: "scale"},
	} {
		if got, ok := apipath.Parse(path); !ok || got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
	for _, path := range []string{"", "/", "/version", "/api", "/apis", "/apis/", "/api/v1", "/apis/kopf.dev", "/apis/kopf.dev/v1"} {
		if got, ok := apipath.Parse(path); ok {
			t.Errorf("%s: got %+v", path, got)
		}
	}
}
