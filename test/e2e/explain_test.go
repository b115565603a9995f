package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// An object of the cluster is explained without an operator that runs, and stays as it is.
func TestExplain(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.create(t, "obj", "{field: one}")
	s.patch(t, "obj", `{"metadata":{"finalizers":["a.dev/b"],"annotations":{"kopf.zalando.org/create_fn":"{\"started\":\"2026-01-01T12:00:00.000000+00:00\",\"retries\":3,\"purpose\":\"create\",\"message\":\"no\"}"}}}`)
	before := s.get(t, "obj").GetResourceVersion()
	env := []string{"KUBECONFIG=" + s.Kubeconfig()}
	module := guest(t, "scripted")
	done := kopf(t, env, "explain", "kex/obj", "-n", s.namespace, "--module", module, "--config", "handlers=create delete", "-o", "json")
	if done.code != 0 {
		t.Fatalf("exit code %d: %s", done.code, done.stderr)
	}
	var got struct {
		Cause    struct{ Reason string }
		Handlers []struct {
			ID, Verdict string
			Progress    *struct {
				Attempts int
				Error    string
			}
		}
		Finalizers struct{ RequiredBy, Foreign []string }
	}
	if err := json.Unmarshal([]byte(done.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Cause.Reason != "create" || len(got.Handlers) != 2 || got.Handlers[0].Verdict != "due" || got.Handlers[1].Verdict != "no" {
		t.Errorf("got %s", done.stdout)
	}
	if p := got.Handlers[0].Progress; p == nil || p.Attempts != 3 || p.Error != "no" {
		t.Errorf("the progress: %s", done.stdout)
	}
	if len(got.Finalizers.RequiredBy) != 1 || len(got.Finalizers.Foreign) != 1 {
		t.Errorf("the finalizers: %s", done.stdout)
	}
	if after := s.get(t, "obj").GetResourceVersion(); after != before {
		t.Errorf("the object has changed: %s after %s", after, before)
	}
	folder := repository + "/examples/01-minimal/"
	done = kopf(t, nil, "explain", "-f", folder+"obj.yaml", "--crd", folder+"crd.yaml", "--module", module, "--config", "handlers=create")
	if done.code != 0 || !strings.Contains(done.stdout, "create_fn   create   due") || strings.Contains(done.stdout, "Note:") {
		t.Errorf("of a file: exit code %d: %s%s", done.code, done.stdout, done.stderr)
	}
	for object, want := range map[string]string{
		"kex/absent": `no such object: kopfexamples.v1.kopf.dev "absent" in the namespace ` + s.namespace,
		"absent/obj": `no such object: the cluster has no resource "absent"`,
	} {
		if done := kopf(t, env, "explain", object, "-n", s.namespace, "--module", module); done.code != 1 || !strings.Contains(done.stderr, want) {
			t.Errorf("%s: exit code %d, %q", object, done.code, done.stderr)
		}
	}
}
