package leadership

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"time"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
)

// microTime is the format of times in the specification of a Lease.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// noteKey is the annotation with the note of the holder.
const noteKey = "replicas.kopf.dev/note"

// Lease is a state of the Lease.
//
// Source: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/
type Lease struct {
	Version     string // empty: it does not exist
	Holder      string // empty: no replica has it
	Seconds     int    // how long other replicas wait; 0: they do not wait
	Acquired    string // the time at which the holder has taken the Lease, in its own text
	Renewed     string // the time of the last renewal, in the text of the holder
	Transitions int
	Note        string // a message of the holder to all replicas, in the annotation noteKey; empty: none

	metadata map[string]any // of the object
}

// Name is the name of the object; empty if it does not exist.
func (l Lease) Name() string {
	name, _ := l.metadata["name"].(string)
	return name
}

// claim is how long other replicas must not take a Lease after they have seen a state of it.
func (l Lease) claim(t Terms) time.Duration {
	announced := time.Duration(l.Seconds) * time.Second
	if l.Version == "" || l.Holder != "" {
		return max(announced, t.Duration)
	}
	return announced // released: 0; cleared by a person: that of the former leader
}

func (l Lease) takenBy(identity string, t Terms, now time.Time) Lease {
	if l.Holder != identity {
		l.Acquired = now.UTC().Format(microTime)
		if l.Version != "" {
			l.Transitions = min(l.Transitions, math.MaxInt32-1) + 1 // the API server refuses more
		}
	}
	return l.renewed(identity, t, now)
}

func (l Lease) renewed(identity string, t Terms, now time.Time) Lease {
	l.Holder, l.Seconds = identity, int(t.Duration/time.Second)
	l.Renewed = now.UTC().Format(microTime)
	if l.Acquired == "" {
		l.Acquired = l.Renewed
	}
	return l
}

func (l Lease) released() Lease {
	l.Holder, l.Seconds, l.Acquired, l.Renewed = "", 0, "", ""
	return l
}

// objects keeps the Lease in the cluster.
type objects struct {
	client    *clients.Client
	name      string
	labels    map[string]any // of a Lease that is created
	all, path apipath.Path   // of all leases of the namespace, and of this one
}

// In returns a Store of the Lease with a name in a namespace. It creates the Lease with the labels.
//
// Errors: the namespace or the name is invalid.
func In(client *clients.Client, namespace, name string, labels map[string]any) (Store, error) {
	target := apipath.Target{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Namespace: namespace}
	all, err := apipath.Of(target)
	if err != nil {
		return nil, err
	}
	target.Name = name
	path, err := apipath.Of(target)
	if err != nil {
		return nil, err
	}
	return &objects{client, name, labels, all, path}, nil
}

// Read implements Store.
func (o *objects) Read(ctx context.Context) (Lease, error) {
	text, err := o.client.Get(ctx, o.path, nil)
	if code, ok := clients.Code(err); ok && code == http.StatusNotFound {
		return Lease{}, nil
	}
	if err != nil {
		return Lease{}, err
	}
	return Parse(text)
}

// Write implements Store.
func (o *objects) Write(ctx context.Context, lease Lease) (Lease, error) {
	method, path := http.MethodPut, o.path
	if lease.Version == "" {
		method, path = http.MethodPost, o.all
	}
	text, err := json.Marshal(lease.object(o.name, o.labels))
	if err != nil {
		return Lease{}, err
	}
	answer, err := o.client.Write(ctx, method, path, text)
	switch code, _ := clients.Code(err); {
	case code == http.StatusConflict || code == http.StatusNotFound && method == http.MethodPut:
		return Lease{}, fmt.Errorf("%w: %w", ErrConflict, err)
	case err != nil:
		return Lease{}, err
	}
	return Parse(answer)
}

// object is the object of the API. Its metadata stay as they were read.
type object struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       spec           `json:"spec"`
}

type spec struct {
	Holder      string `json:"holderIdentity,omitempty"`
	Seconds     int    `json:"leaseDurationSeconds,omitempty"`
	Acquired    string `json:"acquireTime,omitempty"`
	Renewed     string `json:"renewTime,omitempty"`
	Transitions int    `json:"leaseTransitions"`
}

func (l Lease) object(name string, labels map[string]any) object {
	metadata := maps.Clone(l.metadata)
	if metadata == nil {
		metadata = map[string]any{"name": name}
		if len(labels) > 0 {
			metadata["labels"] = labels
		}
	}
	if known, _ := metadata["annotations"].(map[string]any); l.Note != "" {
		annotations := map[string]any{noteKey: l.Note}
		for key, value := range known {
			if key != noteKey {
				annotations[key] = value
			}
		}
		metadata["annotations"] = annotations
	}
	if l.Version != "" {
		metadata["resourceVersion"] = l.Version
	}
	return object{"coordination.k8s.io/v1", "Lease", metadata, spec{l.Holder, l.Seconds, l.Acquired, l.Renewed, l.Transitions}}
}

// Parse decodes the object of a Lease.
//
// Errors: the text is no such object, or has no version.
func Parse(text []byte) (Lease, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return Lease{}, fmt.Errorf("the lease: %w", err)
	}
	version, _ := o.Metadata["resourceVersion"].(string)
	if version == "" {
		return Lease{}, fmt.Errorf("the lease has no resourceVersion: %.200s", text)
	}
	annotations, _ := o.Metadata["annotations"].(map[string]any)
	note, _ := annotations[noteKey].(string)
	s := o.Spec
	return Lease{
		Version: version, Holder: s.Holder, Seconds: s.Seconds, Acquired: s.Acquired, Renewed: s.Renewed, Transitions: s.Transitions,
		Note: note, metadata: o.Metadata,
	}, nil
}
