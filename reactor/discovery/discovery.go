// Package discovery asks an API server for its resources: in two requests if the server
// supports aggregated discovery, otherwise group by group.
//
// The discovery of client-go registers the types of all built-in APIs at each start, which
// takes 10 MB of memory that the operator does not need otherwise.
//
// See https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
package discovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Get reads a document in the best of the accepted content types that the server supports. It is
// called concurrently.
type Get func(ctx context.Context, path apipath.Path, accept string) (contentType string, body []byte, err error)

// Incomplete means that the resources of some group versions are unknown, for example
// because an aggregated server is broken.
type Incomplete struct {
	Groups map[schema.GroupVersion]error
}

// Error lists the versions that are unknown.
func (e *Incomplete) Error() string {
	texts := make([]string, 0, len(e.Groups))
	for version, err := range e.Groups {
		texts = append(texts, fmt.Sprintf("%s: %v", version, err))
	}
	slices.Sort(texts)
	return "not all groups can be asked: " + strings.Join(texts, ", ")
}

// Scan returns the resources of the cluster, those of the core group first. It asks for both
// documents at once. The result must not be changed, because equal results are one.
//
// Errors: *Incomplete together with the resources of all other groups; any other error
// comes without resources.
//
// Kopf: kopf._cogs.clients.scanning (v1.45).
func Scan(ctx context.Context, get Get) ([]selectors.Resource, error) {
	asking, cancel := context.WithCancel(ctx)
	var groups answer
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // in vain, unless the core group cannot be read
	running.Go(func() { groups = request(asking, get, named) })
	all := &found{failed: map[schema.GroupVersion]error{}}
	answered := request(ctx, get, core)
	if !apierrors.IsNotFound(answered.err) { // standalone aggregated servers have no core group
		if err := all.read(ctx, get, core, answered); err != nil {
			return nil, err
		}
	}
	running.Wait()
	if err := all.read(ctx, get, named, groups); err != nil {
		return nil, err
	}
	if len(all.failed) > 0 {
		return all.resources, &Incomplete{all.failed}
	}
	return last.of(all.resources), nil
}

// answer is the answer at an entry point.
type answer struct {
	contentType string
	body        []byte
	err         error
}

func request(ctx context.Context, get Get, from root) (a answer) {
	a.contentType, a.body, a.err = get(ctx, from.path, accepted)
	return a
}

// read adds the resources of an answer, which may be a list of groups to ask for.
func (f *found) read(ctx context.Context, get Get, from root, a answer) error {
	err := a.err
	if err == nil && isAggregated(a.contentType) {
		err = f.aggregated(a.body)
	} else if err == nil {
		err = f.oneByOne(ctx, get, from, a.body)
	}
	if err != nil {
		return fmt.Errorf("discovering the resources at %s: %w", from.path, err)
	}
	return nil
}

// root is an entry point of discovery.
type root struct {
	path     apipath.Path
	versions func(body []byte) ([]version, error) // used for servers without aggregated discovery
}

// version is one version of a group.
type version struct {
	schema.GroupVersion
	preferred bool
}

// found collects the resources and the versions that cannot be read.
type found struct {
	resources []selectors.Resource
	failed    map[schema.GroupVersion]error
}

// add adds a resource of a version, unless its name is invalid in a request: an aggregated
// server can return any name.
func (f *found) add(v version, r selectors.Resource) {
	r.Group, r.Version, r.Preferred = v.Group, v.Version, v.preferred
	if _, err := r.URL("", "", ""); err != nil {
		return
	}
	r.Singular = cmp.Or(r.Singular, strings.ToLower(r.Kind)) // some servers omit it
	f.resources = append(f.resources, r)
}
