package membership

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/leadership"
)

// labelKey is the label of the Leases of members. Its value is the name of the Lease of the election.
const labelKey = "replicas.kopf.dev/of"

// cluster has the Leases as objects of Kubernetes.
type cluster struct {
	client          *clients.Client
	namespace, name string // of the Lease of the election
	election        leadership.Store
	all             apipath.Path
}

// In returns the Leases of the members of which the Lease of the election has a name in a namespace.
//
// Errors: the namespace or the name is invalid.
func In(client *clients.Client, namespace, name string) (Leases, error) {
	election, err := leadership.In(client, namespace, name, nil)
	if err != nil {
		return nil, err
	}
	c := &cluster{client: client, namespace: namespace, name: name, election: election}
	if c.all, err = c.path(""); err != nil {
		return nil, err
	}
	if _, err := c.path(c.nameOf("member")); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *cluster) path(name string) (apipath.Path, error) {
	return apipath.Of(apipath.Target{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Namespace: c.namespace, Name: name})
}

func (c *cluster) nameOf(member string) string { return c.name + "." + member }

// label is the value of the label: the name, or its hash if it is too long for a label.
func (c *cluster) label() string {
	const longest = 63
	if len(c.name) <= longest {
		return c.name
	}
	hash := sha256.Sum256([]byte(c.name))
	return hex.EncodeToString(hash[:16])
}

// Election implements Leases.
func (c *cluster) Election() leadership.Store { return c.election }

// Of implements Leases.
func (c *cluster) Of(member string) leadership.Store {
	store, err := leadership.In(c.client, c.namespace, c.nameOf(member), map[string]any{labelKey: c.label()})
	if err != nil {
		return invalid{err}
	}
	return store
}

// invalid is the store of a Lease whose name is invalid.
type invalid struct{ err error }

func (i invalid) Read(context.Context) (leadership.Lease, error) { return leadership.Lease{}, i.err }

func (i invalid) Write(context.Context, leadership.Lease) (leadership.Lease, error) {
	return leadership.Lease{}, i.err
}

// List implements Leases.
func (c *cluster) List(ctx context.Context) (map[string]leadership.Lease, error) {
	text, err := c.client.Get(ctx, c.all, url.Values{"labelSelector": {labelKey + "=" + c.label()}})
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("the leases of the members: %w", err)
	}
	leases := map[string]leadership.Lease{}
	for _, item := range list.Items {
		lease, err := leadership.Parse(item)
		if err != nil {
			return nil, err
		}
		if member, ok := strings.CutPrefix(lease.Name(), c.name+"."); ok {
			leases[member] = lease
		}
	}
	return leases, nil
}

// Delete implements Leases.
func (c *cluster) Delete(ctx context.Context, member string, state leadership.Lease) error {
	path, err := c.path(c.nameOf(member))
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]any{"resourceVersion": state.Version}})
	if err != nil {
		return err
	}
	_, err = c.client.Write(ctx, http.MethodDelete, path, body)
	if code, _ := clients.Code(err); code == http.StatusNotFound || code == http.StatusConflict {
		return nil // it is gone, or lives
	}
	if err != nil {
		return errors.Join(errors.New("a lease of a former member"), err)
	}
	return nil
}
