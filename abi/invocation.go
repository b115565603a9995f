package abi

// Tags of the segments of a frame. See SPEC.md, "Frames".
const (
	TagHeader = 1 // the JSON message
	TagBody   = 2 // the object, as the API server sent it
	TagOld    = 3 // the last handled state: an essence, or the value of the field
	TagNew    = 4 // the current state, likewise
	TagDiff   = 5 // [[op, path, old, new], …]
	TagEvent  = 6 // the raw watch event
	TagFresh  = 7 // the newest known body: for daemons and timers
	TagAnswer = 8 // the answer to the last call of the host function call
)

// Invocation is the header of the frame for start: the kwargs of one
// handler for one attempt, except for values in the body.
//
// See https://docs.kopf.dev/en/latest/kwargs/
type Invocation struct {
	// Handler is the position of the handler: in Registration.Handlers, or among
	// the children of the step of the parent.
	Handler int `json:"handler"`

	// Parent is the task that declared the handler; 0 for handlers of the registration.
	Parent uint32 `json:"parent,omitempty"`

	Kind Kind   `json:"kind"`
	ID   string `json:"id"` // the full id: fn, fn/spec.field, parent/child

	Param    Raw           `json:"param,omitempty"`
	Retry    int           `json:"retry"`             // 0 for the first attempt
	Started  string        `json:"started,omitempty"` // time of the first attempt, in RFC 3339
	Runtime  float64       `json:"runtime"`           // seconds since the first attempt
	Resource *ResourceInfo `json:"resource,omitempty"`

	Name      string `json:"name,omitempty"`      // of the object, if it has one
	Namespace string `json:"namespace,omitempty"` // of the object, if it has one
	UID       string `json:"uid,omitempty"`       // of the object, if it has one

	Reason string   `json:"reason,omitempty"` // create, update, delete, resume
	Field  []string `json:"field,omitempty"`  // the path of the field in old, new and diff

	// EventType is the type of a watch event; null in the initial listing.
	EventType *string `json:"type,omitempty"`

	Activity string `json:"activity,omitempty"` // startup, cleanup, authentication, probe
	Settings Raw    `json:"settings,omitempty"` // activities: the current settings

	// Logins are the host's own credentials by their names: authentication only. A
	// handler may return one of them as {"login": NAME}.
	Logins []string `json:"logins,omitempty"`

	Admission *Admission `json:"admission,omitempty"`

	// Conversion is the step of a convert handler: the object is in the
	// body, and the result is the whole converted object.
	Conversion *Conversion `json:"conversion,omitempty"`

	Indices []string `json:"indices,omitempty"` // names of the indices of the operator
}

// ResourceInfo is the resource of the object.
//
// Kopf: kopf.Resource (v1.45).
type ResourceInfo struct {
	Group        string   `json:"group"`
	Version      string   `json:"version"`
	Plural       string   `json:"plural"`
	Kind         string   `json:"kind,omitempty"`
	Singular     string   `json:"singular,omitempty"`
	Shortcuts    []string `json:"shortcuts,omitempty"`
	Categories   []string `json:"categories,omitempty"`
	Subresources []string `json:"subresources,omitempty"`
	Namespaced   bool     `json:"namespaced"`
	Preferred    bool     `json:"preferred"`
	Verbs        []string `json:"verbs,omitempty"`
}

// Admission are the kwargs of validating and mutating handlers.
//
// See https://docs.kopf.dev/en/latest/admission/
type Admission struct {
	Operation   string              `json:"operation,omitempty"`
	Subresource string              `json:"subresource,omitempty"`
	DryRun      bool                `json:"dryrun"`
	UserInfo    Raw                 `json:"userinfo,omitempty"`
	Headers     map[string][]string `json:"headers,omitempty"`
	SSLPeer     Raw                 `json:"sslpeer,omitempty"`
}

// Conversion is one step of a conversion between versions of a resource.
//
// See https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion
type Conversion struct {
	From string `json:"from"` // the version of the object, without the group
	To   string `json:"to"`   // the requested version
}

// Questions is the header of the frame for ask: the filters and the
// options of handlers that are functions, for one object.
type Questions struct {
	Invocation            // the kwargs of the cause; Handler is not used
	Questions  []Question `json:"questions"`
}

// Question asks about one handler. The callbacks are evaluated in their order;
// the first one that is not true ends the question.
type Question struct {
	Handler   int        `json:"handler"`
	Parent    uint32     `json:"parent,omitempty"`
	Callbacks []Callback `json:"callbacks"`
}

// Callback is one function of a handler and the values to call it with; one
// value for which it is true is enough.
type Callback struct {
	Option string  `json:"option"`        // labels, annotations, value, old, new, when, initial_delay, resource
	Key    string  `json:"key,omitempty"` // the label or the annotation
	Values []Value `json:"values,omitempty"`
}

// Value is a value or its absence.
type Value struct {
	Value  Raw  `json:"value,omitempty"`
	Absent bool `json:"absent,omitempty"`
}

// Answers is the result of ask: one verdict for each question, in order.
type Answers struct {
	Answers []Verdict `json:"answers"`
}

// Verdict is the value of the last evaluated callback, or its error.
type Verdict struct {
	Value Raw    `json:"value,omitempty"`
	Error *Error `json:"error,omitempty"`
}
