package e2e_test

import (
	"net/http"
	"regexp"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// explored are the requests of the discovery, by their paths.
type explored struct {
	mu    sync.Mutex // guards paths
	paths map[string]int
}

func (e *explored) note(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paths[path]++
}

// ofGroups tells whether groups were asked for one by one, and how many requests there were.
func (e *explored) ofGroups() (bool, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	total := 0
	for _, n := range e.paths {
		total += n
	}
	return e.paths["/apis/kopf.dev/v1"] > 0, total
}

// explorer notes the requests, and may make the server one that does not know of
// aggregated discovery.
type explorer struct {
	http.RoundTripper
	explored *explored
	old      bool
}

var discovering = regexp.MustCompile(`^/(api(/v1)?|apis(/[^/]+/[^/]+)?)$`)

func (e *explorer) RoundTrip(r *http.Request) (*http.Response, error) {
	if discovering.MatchString(r.URL.Path) {
		e.explored.note(r.URL.Path)
		if e.old {
			r = r.Clone(r.Context())
			r.Header.Set("Accept", "application/json")
		}
	}
	return e.RoundTripper.RoundTrip(r)
}

// TestAggregatedDiscovery: where the server offers it, two requests tell all resources; of
// other servers, each group is asked for.
func TestAggregatedDiscovery(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"offered": false, "not offered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			seen := &explored{paths: map[string]int{}}
			config := rest.CopyConfig(s.RESTConfig())
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &explorer{next, seen, old} })
			op := s.start(t, options{rest: config})
			s.create(t, "obj", "{field: one}")
			s.handled(t, "obj")
			op.stop(t)
			ofGroups, total := seen.ofGroups()
			t.Logf("%s: %d requests of the discovery", name, total)
			if ofGroups != old || total == 0 {
				t.Errorf("%d requests, groups one by one: %t, want %t", total, ofGroups, old)
			}
		})
	}
}
