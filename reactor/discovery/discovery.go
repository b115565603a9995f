// Package discovery asks an API server what resources it has: in two requests where
// it can tell all of them at once, otherwise group by group.
//
// That of client-go decodes into the types of all built-in APIs, which it registers for
// that at each start: 10 MB of memory that nothing else needs.
//
// See https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
package discovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Get reads a document, in the best of the accepted content types that the server has.
type Get func(ctx context.Context, path apipath.Path, accept string) (contentType string, body []byte, err error)

// Incomplete says that some versions of groups cannot be asked now, such as those of
// a broken aggregated server.
type Incomplete struct {
	Groups map[schema.GroupVersion]error
}

func (e *Incomplete) Error() string {
	texts := make([]string, 0, len(e.Groups))
	for version, err := range e.Groups {
		texts = append(texts, fmt.Sprintf("%s: %v", version, err))
	}
	slices.Sort(texts)
	return "not all groups can be asked: " + strings.Join(texts, ", ")
}

// Scan returns the resources of the cluster, those of the core first.
//
// Errors: *Incomplete beside the resources of all other groups; all others without any
// resources.
//
// Kopf: kopf._cogs.clients.scanning (v1.45).
func Scan(ctx context.Context, get Get) ([]selectors.Resource, error) {
	all := &found{failed: map[schema.GroupVersion]error{}}
	for _, root := range []root{core, named} {
		contentType, body, err := get(ctx, root.path, accepted)
		if apierrors.IsNotFound(err) && root.path == core.path { // servers that stand for themselves have no core
			continue
		}
		if err == nil && isAggregated(contentType) {
			err = all.aggregated(body)
		} else if err == nil {
			err = all.oneByOne(ctx, get, root, body)
		}
		if err != nil {
			return nil, fmt.Errorf("discovering the resources at %s: %w", root.path, err)
		}
	}
	if len(all.failed) > 0 {
		return all.resources, &Incomplete{all.failed}
	}
	return all.resources, nil
}

// root is where a discovery begins.
type root struct {
	path     apipath.Path
	versions func(body []byte) ([]version, error) // of a server that cannot tell all at once
}

// version is one version of a group.
type version struct {
	schema.GroupVersion
	preferred bool
}

// found are the resources so far, and the versions that cannot be asked.
type found struct {
	resources []selectors.Resource
	failed    map[schema.GroupVersion]error
}

// add takes a resource of a version, unless no request can be made for it: any aggregated
// server chooses what it calls its resources.
func (f *found) add(v version, r selectors.Resource) {
	r.Group, r.Version, r.Preferred = v.Group, v.Version, v.preferred
	if _, err := r.URL("", "", ""); err != nil {
		return
	}
	r.Singular = cmp.Or(r.Singular, strings.ToLower(r.Kind)) // some servers leave it out
	f.resources = append(f.resources, r)
}
