package abi

// RegisterRequest is the argument of register.
type RegisterRequest struct {
	ABI  int    `json:"abi"`            // the version that the host speaks with this guest
	Host string `json:"host,omitempty"` // name and version of the host, for logs

	// Config is the configuration that the guest may read at registration:
	// everything except secrets. The registration may depend on it and on nothing else.
	Config map[string]string `json:"config,omitempty"`
}

// Registration is the result of register: a pure function of the module and its
// configuration, byte-equal from every instance.
type Registration struct {
	SDK      string       `json:"sdk,omitempty"`     // name and version of the SDK, for logs
	Operator OperatorInfo `json:"operator,omitzero"` // name and version of the operator
	Handlers []Handler    `json:"handlers"`          // in the order of declaration

	// Lifecycle is the default order of handlers: asap (default), one_by_one,
	// all_at_once, randomized, shuffled.
	//
	// See https://docs.kopf.dev/en/latest/configuration/ (lifecycles)
	Lifecycle string `json:"lifecycle,omitempty"`

	// SharedTasks allows daemons to share an instance while they wait: each of
	// them is a coroutine of the guest.
	SharedTasks bool `json:"shared_tasks,omitempty"`

	// Capabilities are the rights that the guest wants. The administrator of the operator
	// grants them.
	Capabilities *Capabilities `json:"capabilities,omitempty"`

	// Error refuses the configuration: the operator then does not start.
	Error string `json:"error,omitempty"`
}

// OperatorInfo names an operator in logs and listings.
type OperatorInfo struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Capabilities are rights beyond a guest's own memory.
type Capabilities struct {
	Kubernetes []KubernetesRule `json:"kubernetes,omitempty"`
	HTTP       []string         `json:"http,omitempty"`   // [scheme://]name[:port]; the first label may be *
	Config     []string         `json:"config,omitempty"` // the keys that the guest reads, including secrets; empty: all
}

// KubernetesRule is a rule as in RBAC.
//
// See https://kubernetes.io/docs/reference/access-authn-authz/rbac/
type KubernetesRule struct {
	Groups    []string `json:"groups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`

	// Namespaces are globs; absent: the namespaces that the operator serves.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Kind is a kind of handlers: the name of its decorator in Kopf.
type Kind string

// All kinds of handlers. Convert and Background are not in Kopf.
const (
	KindCreate     Kind = "create"
	KindUpdate     Kind = "update"
	KindDelete     Kind = "delete"
	KindResume     Kind = "resume"
	KindField      Kind = "field"
	KindEvent      Kind = "event"
	KindTimer      Kind = "timer"
	KindDaemon     Kind = "daemon"
	KindIndex      Kind = "index"
	KindValidate   Kind = "validate"
	KindMutate     Kind = "mutate"
	KindConvert    Kind = "convert"
	KindStartup    Kind = "startup"
	KindCleanup    Kind = "cleanup"
	KindLogin      Kind = "login"
	KindProbe      Kind = "probe"
	KindBackground Kind = "background"
	KindSub        Kind = "sub" // a sub-handler: only among the children of a step
)

// Handler declares one handler. Options that a kind does not have are refused,
// and so are options that the host does not know: to ignore a filter would be
// to handle what the author excluded. All times are in seconds.
//
// See https://docs.kopf.dev/en/latest/handlers/
type Handler struct {
	Kind Kind `json:"kind"`

	// ID names the handler in logs, in results and in the stored progress. The
	// host adds the field's name, and the parent's id for sub-handlers.
	ID string `json:"id"`

	// Fn identifies the function: registrations with equal Fn and ID are called
	// once per cause. Empty means that no other handler uses the function.
	Fn string `json:"fn,omitempty"`

	Resource *Selector `json:"resource,omitempty"` // absent for activities and sub-handlers
	Param    Raw       `json:"param,omitempty"`    // passed back with each invocation

	// Errors is the meaning of an arbitrary error: TEMPORARY, PERMANENT, IGNORED.
	Errors  string   `json:"errors,omitempty"`
	Timeout *float64 `json:"timeout,omitempty"` // since the first attempt
	Retries *int     `json:"retries,omitempty"` // attempts, including the first one
	Backoff *float64 `json:"backoff,omitempty"` // after an arbitrary error; 60 by default

	Labels      map[string]Raw `json:"labels,omitempty"`      // filters by label
	Annotations map[string]Raw `json:"annotations,omitempty"` // filters by annotation
	When        Raw            `json:"when,omitempty"`        // always Function
	Field       []string       `json:"field,omitempty"`       // the path of a field
	Value       Raw            `json:"value,omitempty"`       // a filter by its value
	Old         Raw            `json:"old,omitempty"`         // by its value before
	New         Raw            `json:"new,omitempty"`         // by its value after

	Optional bool `json:"optional,omitempty"` // delete: no finalizer
	Deleted  bool `json:"deleted,omitempty"`  // resume: also objects that are being deleted

	Interval     *float64 `json:"interval,omitempty"`      // timer
	Sharp        bool     `json:"sharp,omitempty"`         // timer
	Idle         *float64 `json:"idle,omitempty"`          // timer
	InitialDelay Raw      `json:"initial_delay,omitempty"` // timer, daemon: a number or Function

	CancellationBackoff *float64 `json:"cancellation_backoff,omitempty"` // daemon
	CancellationTimeout *float64 `json:"cancellation_timeout,omitempty"` // daemon
	CancellationPolling *float64 `json:"cancellation_polling,omitempty"` // daemon

	Operations     []string `json:"operations,omitempty"`      // validate, mutate
	Subresource    string   `json:"subresource,omitempty"`     // validate, mutate
	Persistent     bool     `json:"persistent,omitempty"`      // validate, mutate
	SideEffects    bool     `json:"side_effects,omitempty"`    // validate, mutate
	IgnoreFailures bool     `json:"ignore_failures,omitempty"` // validate, mutate

	From string `json:"from,omitempty"` // convert: the version of the object
	To   string `json:"to,omitempty"`   // convert: the requested version
}

// Selector selects the resources of a handler, with the notations of Kopf:
// up to three positional arguments, or parts by their names.
//
// See https://docs.kopf.dev/en/latest/resources/
type Selector struct {
	// Args are the positional arguments: strings, or Everything as the last one.
	Args []Raw `json:"args,omitempty"`

	Group    *string `json:"group,omitempty"` // nil: any; empty: the core API
	Version  string  `json:"version,omitempty"`
	Kind     string  `json:"kind,omitempty"`
	Plural   string  `json:"plural,omitempty"`
	Singular string  `json:"singular,omitempty"`
	Shortcut string  `json:"shortcut,omitempty"`
	Category string  `json:"category,omitempty"`

	// Function means that the host asks the guest for each discovered resource.
	Function bool `json:"function,omitempty"`
}

// Markers stand for filter values that are not JSON. A literal value that is
// an object with the key "$" is written as {"$":"VALUE","value":…}.
const (
	Present    = `{"$":"PRESENT"}`    // any value
	Absent     = `{"$":"ABSENT"}`     // no value
	Function   = `{"$":"FUNCTION"}`   // the host asks the guest
	Everything = `{"$":"EVERYTHING"}` // in selectors: all resources
)
