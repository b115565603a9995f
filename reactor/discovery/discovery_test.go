package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// documents are the documents of a server by path. Those that begin with < are of
// aggregated discovery; numbers are errors.
type documents map[string]string

func (d documents) get(_ context.Context, path apipath.Path, accept string) (string, []byte, error) {
	text, ok := d[string(path)]
	var code int32
	if _, err := fmt.Sscanf(text, "%d", &code); !ok || err == nil {
		if !ok {
			code = http.StatusNotFound
		}
		return "", nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: map[bool]metav1.StatusReason{true: metav1.StatusReasonNotFound}[!ok], Message: "boo"}}
	}
	if body, ok := strings.CutPrefix(text, "<"); ok && strings.HasPrefix(accept, "application/json;g=") {
		return "application/json; as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io", []byte(body), nil
	}
	return "application/json", []byte(text), nil
}

func TestScan(t *testing.T) {
	const (
		coreAtOnce = `<{"items":[{"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[
			{"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod","verbs":["list","watch"],
			"shortNames":["po"],"categories":["all"],"subresources":[{"subresource":"status"},{"subresource":"log"}]},
			{"resource":"onlysubs","subresources":[{"subresource":"x"}]}]}]}]}`
		groupsAtOnce = `<{"items":[
			{"metadata":{"name":"a.dev"},"versions":[
				{"version":"v2","freshness":"Stale","resources":[]},
				{"version":"v1","freshness":"Current","resources":[{"resource":"as","responseKind":{"kind":"A"},"scope":"Cluster"}]},
				{"version":"v1beta1","resources":[{"resource":"as","responseKind":{"kind":"A"},"scope":"Cluster"}]}]}]}`
		coreVersions = `{"kind":"APIVersions","versions":["v1"]}`
		pods         = `{"resources":[{"name":"pods","kind":"Pod","namespaced":true,"singularName":"pod","verbs":["list","watch"],"shortNames":["po"],"categories":["all"]},
			{"name":"pods/status","kind":"Pod","namespaced":true},{"name":"pods/log","kind":"Pod","namespaced":true}]}`
		groups = `{"kind":"APIGroupList","groups":[{"name":"a.dev","versions":[{"version":"v2"},{"version":"v1"}],"preferredVersion":{"version":"v1"}}]}`
		as     = `{"resources":[{"name":"as","kind":"A"}]}`
		all    = "pods.v1 Pod/pod [po] [all] [status log] true preferred [list watch]"
	)
	tests := []struct {
		name      string
		documents documents
		want      []string
		err       string // in part
	}{
		{
			"all at once",
			documents{"/api": coreAtOnce, "/apis": groupsAtOnce},
			[]string{all, "as.v1.a.dev A/a [] [] [] false preferred []", "as.v1beta1.a.dev A/a [] [] [] false []"},
			"not all groups can be asked: a.dev/v2: its server does not answer",
		},
		{
			"one by one",
			documents{"/api": coreVersions, "/api/v1": pods, "/apis": groups, "/apis/a.dev/v1": as, "/apis/a.dev/v2": as},
			[]string{all, "as.v2.a.dev A/a [] [] [] false []", "as.v1.a.dev A/a [] [] [] false preferred []"},
			"",
		},
		{
			"a broken version",
			documents{"/api": coreVersions, "/api/v1": pods, "/apis": groups, "/apis/a.dev/v1": "503", "/apis/a.dev/v2": "{"},
			[]string{all},
			"not all groups can be asked: a.dev/v1: boo, a.dev/v2: unexpected end",
		},
		{
			"a version that is gone",
			documents{"/api": coreVersions, "/api/v1": pods, "/apis": groups, "/apis/a.dev/v1": as},
			[]string{all, "as.v1.a.dev A/a [] [] [] false preferred []"},
			"",
		},
		{
			"one of each",
			documents{"/api": coreVersions, "/api/v1": pods, "/apis": groupsAtOnce},
			[]string{all, "as.v1.a.dev A/a [] [] [] false preferred []", "as.v1beta1.a.dev A/a [] [] [] false []"},
			"a.dev/v2",
		},
		{
			"hostile names at once",
			documents{"/api": coreAtOnce, "/apis": `<{"items":[
				{"metadata":{"name":"a.dev/v1/as/../.."},"versions":[{"version":"v1","resources":[{"resource":"as","responseKind":{"kind":"A"}}]}]},
				{"metadata":{"name":"a.dev"},"versions":[{"version":"v1?x","resources":[{"resource":"as","responseKind":{"kind":"A"}}]}]},
				{"metadata":{"name":"a.dev"},"versions":[{"version":"v1","resources":[{"resource":"../as","responseKind":{"kind":"A"}}]}]}]}`},
			[]string{all},
			"",
		},
		{
			"hostile names one by one",
			documents{
				"/api": coreVersions, "/api/v1": pods,
				"/apis": `{"kind":"APIGroupList","groups":[{"name":"../api","versions":[{"version":"v1"}]},{"name":"a.dev","versions":[{"version":"v1#"}]}]}`,
			},
			[]string{all},
			`../api/v1: invalid API group "../api"`,
		},
		{
			"no core",
			documents{"/apis": groups, "/apis/a.dev/v1": as, "/apis/a.dev/v2": as},
			[]string{"as.v2.a.dev A/a [] [] [] false []", "as.v1.a.dev A/a [] [] [] false preferred []"},
			"",
		},
		{"no groups", documents{"/api": coreAtOnce}, nil, "discovering the resources at /apis: boo"},
		{"forbidden", documents{"/api": "403", "/apis": groups}, nil, "discovering the resources at /api: boo"},
		{"garbage", documents{"/api": "<hello", "/apis": groups}, nil, "discovering the resources at /api: invalid character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resources, err := Scan(t.Context(), tt.documents.get)
			var got []string
			for _, r := range resources {
				text := fmt.Sprint(r.String(), " ", r.Kind, "/", r.Singular, " ", r.Shortcuts, r.Categories, r.Subresources, " ", r.Namespaced)
				if r.Preferred {
					text += " preferred"
				}
				got = append(got, fmt.Sprint(strings.ReplaceAll(text, "][", "] ["), " ", r.Verbs))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			var incomplete *Incomplete
			if err != nil && errors.As(err, &incomplete) != (resources != nil) {
				t.Errorf("%d resources in addition to %v", len(resources), err)
			}
		})
	}
}
