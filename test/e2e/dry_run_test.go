package e2e_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestDryRun: the handlers run to their end, over retries, an update and a deletion, and
// nothing in the cluster changes.
func TestDryRun(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.create(t, "obj", "{do: temporary, seconds: 1, times: 1}")
	before := s.text(t, "obj")
	p := s.spawn(t, "--dry-run", "-o", "json", "--config", "handlers=create update delete", "--replicas", "leader", "--lease", "dry")
	p.says(t, "Creation is processed: 1 succeeded; 0 failed.")
	if after := s.text(t, "obj"); after != before {
		t.Errorf("the object has changed:\n%s\n%s", before, after)
	}
	s.patch(t, "obj", `{"spec":{"do":null,"field":"new"}}`)
	before = s.text(t, "obj")
	p.says(t, "Updating is processed: 1 succeeded; 0 failed.")
	if after := s.text(t, "obj"); after != before {
		t.Errorf("the object has changed:\n%s\n%s", before, after)
	}
	s.remove(t, "obj")
	s.gone(t, "obj") // it has no finalizer in the cluster
	p.says(t, "Deletion is processed: 1 succeeded; 0 failed.")
	p.says(t, "Deleted, really deleted, and we are notified.")
	p.signal(t, syscall.SIGTERM)
	if code := p.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	kinds := map[string]int{}
	for _, line := range p.stdout.All() {
		var r struct{ Kind, Path string }
		if err := json.Unmarshal([]byte(line), &r); err != nil || !strings.Contains(r.Path, s.namespace) {
			t.Errorf("%s: %v", line, err)
		}
		kinds[r.Kind]++
	}
	if kinds["patch"] < 5 || len(kinds) > 2 {
		t.Errorf("the requests: %v", kinds)
	}
	events, err := s.client(schema.GroupVersionResource{Version: "v1", Resource: "events"}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(events.Items) > 0 {
		t.Errorf("events: %v, %v", events, err)
	}
}

// text is a KopfExample as it is in the cluster.
func (s space) text(t *testing.T, name string) string {
	t.Helper()
	text, err := s.get(t, name).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
