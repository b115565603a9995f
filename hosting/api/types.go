package api

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operator is a declared operator: an object of one of the kinds.
type Operator struct {
	APIVersion string   `json:"apiVersion"`
	Kind       Kind     `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
	Status     *Status  `json:"status,omitempty"`
}

// Metadata are the parts of the metadata that the host uses.
type Metadata struct {
	Name            string `json:"name"`
	Namespace       string `json:"namespace,omitempty"`
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Generation      int64  `json:"generation,omitempty"`
}

// Spec says which operator runs, as whom, where and with which rights and limits.
type Spec struct {
	// Module is the artifact of the operator, with a tag or a digest:
	// oci://ghcr.io/me/operator:v1. In manifests of a folder, it may also be a file of this
	// folder.
	Module string `json:"module"`

	// PullSecrets are names of secrets of the type kubernetes.io/dockerconfigjson, in the
	// namespace of the service account. The host reads them as this service account.
	PullSecrets []string `json:"pullSecrets,omitempty"`

	// Verification demands signatures, in addition to those that the host demands.
	Verification *Verification `json:"verification,omitempty"`

	// ServiceAccountName is the account that all requests of the operator are made as. It is
	// an account of the operator's own namespace.
	ServiceAccountName string `json:"serviceAccountName"`

	// ServiceAccountNamespace is the namespace of the account. Only ClusterWasmOperator has
	// this field, and requires it.
	ServiceAccountNamespace string `json:"serviceAccountNamespace,omitempty"`

	// Scope says where the operator serves. Only ClusterWasmOperator has this field. Default:
	// the whole cluster.
	Scope *Scope `json:"scope,omitempty"`

	// Grants are what the operator may reach. Default: nothing.
	Grants *Grants `json:"grants,omitempty"`

	// Limits are limits by name, like the flag --limit of kopf run. None may exceed the
	// maximum of the host.
	Limits map[string]string `json:"limits,omitempty"`

	// Settings are settings of Kopf by name, with their values.
	Settings map[string]json.RawMessage `json:"settings,omitempty"`

	// Suspend stops the operator, and keeps the declaration.
	Suspend bool `json:"suspend,omitempty"`

	// OnRemoval says what becomes of the handled objects when the declaration is deleted.
	OnRemoval *OnRemoval `json:"onRemoval,omitempty"`
}

// Verification lists the required signatures.
type Verification struct {
	Keys []string `json:"keys,omitempty"` // public keys in PEM; a signature by each of them is required
}

// Scope selects namespaces. With both fields, a namespace must match both.
type Scope struct {
	Namespaces []string `json:"namespaces,omitempty"` // names or patterns: prod-*,!prod-x

	// NamespaceSelector selects namespaces by their labels, and follows changes of these.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}

// Grants are the flags --allow-… and --config of kopf run as fields.
type Grants struct {
	Kubernetes []string             `json:"kubernetes,omitempty"` // VERBS:RESOURCES[:NAMESPACES]
	Hosts      []string             `json:"hosts,omitempty"`      // example.com, *.example.com
	Wanted     bool                 `json:"wanted,omitempty"`     // grants all that the module declares to want
	Settings   []string             `json:"settings,omitempty"`   // settings of the class grant that startup handlers may change
	Config     map[string]string    `json:"config,omitempty"`     // configuration of the operator
	Secrets    map[string]SecretKey `json:"secrets,omitempty"`    // further configuration, from secrets
}

// SecretKey names one value of a secret in the namespace of the service account. The host
// reads it as this service account.
type SecretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// OnRemoval says what becomes of the handled objects when a declaration is deleted.
type OnRemoval struct {
	Finalizers Finalizers `json:"finalizers,omitempty"` // default: Keep

	// ReleaseAfter bounds the time for deletion handlers, for the finalizers ReleaseAfter
	// only: 30s, 5m, 1h30m. Default: DefaultReleaseAfter. Maximum: MaxReleaseAfter.
	ReleaseAfter string `json:"releaseAfter,omitempty"`
}

// Finalizers says what becomes of the operator's finalizers.
type Finalizers string

// The values of OnRemoval.Finalizers.
const (
	Keep         Finalizers = "Keep"         // they stay on the objects: an operator that is declared later continues
	Release      Finalizers = "Release"      // they are removed at once, without calls of deletion handlers
	ReleaseAfter Finalizers = "ReleaseAfter" // objects that are being deleted get their deletion handlers first, for a bounded time
)

// Times for deletion handlers, of OnRemoval.ReleaseAfter.
const (
	DefaultReleaseAfter = 5 * time.Minute
	MaxReleaseAfter     = 24 * time.Hour
)

// Removal returns what becomes of the operator's finalizers, and the time for deletion
// handlers before. Invalid times are zero.
func (s *Spec) Removal() (Finalizers, time.Duration) {
	switch r := s.OnRemoval; {
	case r == nil || r.Finalizers == "":
		return Keep, 0
	case r.Finalizers != ReleaseAfter:
		return r.Finalizers, 0
	case r.ReleaseAfter == "":
		return ReleaseAfter, DefaultReleaseAfter
	default:
		limit, _ := time.ParseDuration(r.ReleaseAfter) // zero if it is invalid, which Check refuses
		return ReleaseAfter, limit
	}
}

// Status is what the host reports about a declared operator.
type Status struct {
	ObservedGeneration int64       `json:"observedGeneration,omitempty"` // of the spec that the status is about
	Module             string      `json:"module,omitempty"`             // the artifact that runs, with its digest
	Digest             string      `json:"digest,omitempty"`             // of the module that runs: sha256:…
	Handlers           int         `json:"handlers,omitempty"`           // number of registered handlers
	Webhooks           int         `json:"webhooks,omitempty"`           // of these, those for admission and conversion
	Resources          []string    `json:"resources,omitempty"`          // that the handlers are for
	Finalizer          string      `json:"finalizer,omitempty"`          // that the operator adds to objects
	Restarts           int         `json:"restarts"`                     // since the spec has changed
	Host               string      `json:"host,omitempty"`               // that runs the operator, if the host has replicas: its name in their Lease
	Conditions         []Condition `json:"conditions,omitempty"`
}

// Condition is one aspect of the state, in the form of metav1.Condition.
type Condition struct {
	Type               ConditionType `json:"type"`
	Status             Truth         `json:"status"`
	Reason             string        `json:"reason"`
	Message            string        `json:"message"`
	ObservedGeneration int64         `json:"observedGeneration,omitempty"`
	LastTransitionTime time.Time     `json:"lastTransitionTime"`
}

// Truth is the status of a condition.
type Truth string

// The values of a condition.
const (
	True    Truth = "True"
	False   Truth = "False"
	Unknown Truth = "Unknown"
)

// ConditionType names a condition.
type ConditionType string

// The conditions. Those from Degraded on are problems: they are good if they are False.
const (
	Ready       ConditionType = "Ready"       // the operator serves with the present spec
	Accepted    ConditionType = "Accepted"    // the spec is valid, and within the maxima of the host
	Resolved    ConditionType = "Resolved"    // the module was fetched
	Verified    ConditionType = "Verified"    // the required signatures exist
	Granted     ConditionType = "Granted"     // the module wants no more than it is granted
	Shared      ConditionType = "Shared"      // all hosts that share the objects run the generation of the condition; else none does
	Releasing   ConditionType = "Releasing"   // the declaration is being deleted, and the finalizers of the operator are removed
	Degraded    ConditionType = "Degraded"    // it does not work, or an earlier spec runs instead of the present one
	Overlapping ConditionType = "Overlapping" // another operator of the host handles the same objects
	Throttled   ConditionType = "Throttled"   // limits of rates hold the operator back
	Quarantined ConditionType = "Quarantined" // it has ended too often, and is not started again
)

// ReleaseFailed is the reason of conditions if the finalizers of a removed operator stay.
const ReleaseFailed = "ReleaseFailed"

// IsProblem reports whether a condition of the type is good if it is False.
func (t ConditionType) IsProblem() bool {
	return t == Degraded || t == Overlapping || t == Throttled || t == Quarantined
}

// NeedsAttention reports whether the condition is not as it should be.
func (c Condition) NeedsAttention() bool {
	return c.Status == True && c.Type.IsProblem() || c.Status == False && !c.Type.IsProblem()
}

// Find returns the condition of a type; nil if there is none.
func (s *Status) Find(of ConditionType) *Condition {
	if s == nil {
		return nil
	}
	for i := range s.Conditions {
		if s.Conditions[i].Type == of {
			return &s.Conditions[i]
		}
	}
	return nil
}

// Is reports whether the condition of a type is True.
func (s *Status) Is(of ConditionType) bool {
	c := s.Find(of)
	return c != nil && c.Status == True
}
