package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/test/clustertest"
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

// TestDiscoveryAsOfClientGo: what the cluster has is what client-go says that it has.
func TestDiscoveryAsOfClientGo(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Cluster(t)
	config := cluster.RESTConfig()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := clientdiscovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, old := range map[string]bool{"aggregated": false, "one by one": true} {
		t.Run(name, func(t *testing.T) {
			theirs.UseLegacyDiscovery = old
			get := func(ctx context.Context, path apipath.Path, accept string) (string, []byte, error) {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+string(path), nil)
				if err != nil {
					return "", nil, err
				}
				if !old {
					req.Header.Set("Accept", accept)
				}
				rsp, err := client.Do(req)
				if err != nil {
					return "", nil, err
				}
				defer rsp.Body.Close()
				body, err := io.ReadAll(rsp.Body)
				return rsp.Header.Get("Content-Type"), body, err
			}
			cluster.Eventually(t, patience, func() error { // other tests define resources meanwhile
				resources, err := discovery.Scan(t.Context(), get)
				if err != nil {
					return err
				}
				groups, lists, err := theirs.ServerGroupsAndResources()
				if err != nil {
					return err
				}
				if diff := cmp.Diff(listed(groups, lists), scanned(resources)); diff != "" {
					return fmt.Errorf("resources (-theirs +ours):\n%s", diff)
				}
				return nil
			})
		})
	}
}

// scanned shows resources as short texts.
func scanned(resources []selectors.Resource) []string {
	var all []string
	for _, r := range resources {
		all = append(all, fmt.Sprint(r.String(), r.Kind, r.Singular, r.Shortcuts, r.Categories, r.Namespaced, r.Preferred, r.Verbs))
		for _, sub := range r.Subresources {
			all = append(all, r.String()+"/"+sub)
		}
	}
	slices.Sort(all)
	return all
}

// listed shows them in the same way.
func listed(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []string {
	preferred := map[string]bool{}
	for _, group := range groups {
		preferred[group.PreferredVersion.GroupVersion] = true
	}
	var all []string
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return []string{err.Error()}
		}
		for _, r := range list.APIResources {
			plural, sub, isSub := strings.Cut(r.Name, "/")
			resource := selectors.Resource{Group: version.Group, Version: version.Version, Plural: plural}
			if isSub {
				all = append(all, resource.String()+"/"+sub)
				continue
			}
			singular := r.SingularName
			if singular == "" { // some servers leave it out
				singular = strings.ToLower(r.Kind)
			}
			all = append(all, fmt.Sprint(resource.String(), r.Kind, singular, r.ShortNames, r.Categories, r.Namespaced, preferred[list.GroupVersion], []string(r.Verbs)))
		}
	}
	slices.Sort(all)
	return all
}
