package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/reviews"
	"github.com/kopf-wasm/kopf/reactor/rights"
	"github.com/kopf-wasm/kopf/webhooks"
)

const requestTimeout = 30 * time.Second

// cluster makes requests with the credentials of the host.
type cluster struct{ client *clients.Client }

var _ webhooks.Cluster = (*cluster)(nil)

func newCluster(config *rest.Config, log zerolog.Logger) *cluster {
	options := clients.Options{RequestTimeout: requestTimeout, ConnectTimeout: requestTimeout, FinalRefusals: true}
	vault := credentials.Lasting(credentials.Info{Config: config})
	return &cluster{clients.New(vault, func() clients.Options { return options }, func(message string) { log.Debug().Msg(message) })}
}

// Get reads an object.
func (c *cluster) Get(ctx context.Context, path apipath.Path) ([]byte, error) {
	return c.client.Get(ctx, path, nil)
}

// Create creates an object.
func (c *cluster) Create(ctx context.Context, path apipath.Path, object []byte) error {
	return forbidden(c.client.Post(ctx, path, object, backoffs.Backoffs{}))
}

// Patch merges a patch into an object.
func (c *cluster) Patch(ctx context.Context, path apipath.Path, mergePatch []byte) error {
	_, err := c.client.Patch(ctx, path, clients.MergePatch, mergePatch)
	return forbidden(err)
}

// forbidden explains what the host lacks.
func forbidden(err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return &hosting.Refusal{Condition: api.Ready, Reason: "HostForbidden", Err: fmt.Errorf("the host lacks a right for admission; repeat kopf serve --install with --admission-server: %w", err)}
}

// remove deletes a configuration.
func (c *cluster) remove(ctx context.Context, plural, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	path, err := apipath.Of(apipath.Target{Group: "admissionregistration.k8s.io", Version: "v1", Plural: plural, Name: name})
	if err != nil {
		return err
	}
	answer, err := c.client.Send(ctx, http.MethodDelete, path, nil, nil, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return clients.ReadError(answer)
	}
	return nil
}

// verbs are those that a service account must be allowed to use with a resource to review
// its objects. No request of the API has them: they exist for this.
var verbs = map[abi.Kind]string{abi.KindValidate: "validate", abi.KindMutate: "mutate"}

// Bounds of the rights that handlers need.
const (
	manyRights = 10   // from which on the right to all resources is asked first
	maxRights  = 1000 // that are asked for one by one, each minute
)

// right is what an account needs.
type right struct{ verb, group, resource, subresource, namespace string }

func (r right) String() string {
	name := r.resource
	if r.subresource != "" {
		name += "/" + r.subresource
	}
	if r.group != "" {
		name += "." + r.group
	}
	if r.namespace == "" {
		return fmt.Sprintf("%s %s in the whole cluster", r.verb, name)
	}
	return fmt.Sprintf("%s %s in the namespace %s", r.verb, name, r.namespace)
}

// permit checks that an account may have handlers.
//
// Errors: a hosting.Refusal that names the first missing right; those of the API server.
func (c *cluster) permit(ctx context.Context, account hosting.Account, scope *webhooks.Scope, handlers []reviews.Handler) error {
	needed := rightsOf(scope, handlers)
	if len(needed) > manyRights {
		all := true
		for _, verb := range []string{verbs[abi.KindValidate], verbs[abi.KindMutate]} {
			allowed, err := c.may(ctx, account, right{verb: verb, group: "*", resource: "*"})
			if err != nil {
				return err
			}
			all = all && allowed
		}
		if all {
			return nil
		}
	}
	if len(needed) > maxRights {
		return &hosting.Refusal{Condition: api.Granted, Reason: "AdmissionForbidden", Err: fmt.Errorf(
			"the admission handlers of the operator need more than %d rights: declare them for fewer resources, subresources and namespaces, or let an administrator grant the verbs to the service account %s/%s for all resources (*)", maxRights, account.Namespace, account.Name)}
	}
	for _, r := range needed {
		allowed, err := c.may(ctx, account, r)
		if err != nil {
			return err
		}
		if !allowed {
			return &hosting.Refusal{Condition: api.Granted, Reason: "AdmissionForbidden", Err: fmt.Errorf(
				"the service account %s/%s may not %s, so the operator may have no such handlers: let an administrator grant it this verb", account.Namespace, account.Name, r)}
		}
	}
	return nil
}

// rightsOf lists the rights that handlers need, without duplicates, at most one more than maxRights.
func rightsOf(scope *webhooks.Scope, handlers []reviews.Handler) []right {
	namespaces := []string{""}
	if scope != nil && scope.Territory == nil { // namespaces that change need the right everywhere
		namespaces = scope.Namespaces
	}
	known := map[right]bool{}
	for _, h := range handlers {
		verb := verbs[h.Spec.Kind]
		for _, r := range h.Resources {
			for _, namespace := range namespaces {
				if verb != "" && len(known) <= maxRights {
					known[right{verb, r.Group, r.Plural, h.Spec.Subresource, namespace}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(known), func(a, b right) int { return slices.Compare(a.parts(), b.parts()) })
}

func (r right) parts() []string {
	return []string{r.verb, r.group, r.resource, r.subresource, r.namespace}
}

// may asks the API server whether an account has a right.
func (c *cluster) may(ctx context.Context, account hosting.Account, r right) (bool, error) {
	allowed, err := rights.Question{
		Subject:  &rights.Subject{User: account.String(), Groups: account.Groups()},
		Resource: &rights.Resource{Verb: r.verb, Group: r.group, Plural: r.resource, Subresource: r.subresource, Namespace: r.namespace},
	}.Ask(ctx, c.client.Ask)
	if err != nil {
		return false, errors.Join(fmt.Errorf("the rights of %s cannot be checked", account), err)
	}
	return allowed, nil
}
