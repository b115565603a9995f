// Package settings holds the settings of an operator, with Kopf's names, units and
// defaults.
//
// Kopf: kopf.OperatorSettings (v1.45); https://docs.kopf.dev/en/latest/configuration/
package settings

import (
	"encoding/json"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/stores"
)

// Settings are all settings that have an effect. They change only at the start: by a file,
// then by flags, then by startup handlers. Later they are read without locks.
type Settings struct {
	Process     Process
	Queueing    Queueing
	Watching    Watching
	Networking  Networking
	Persistence Persistence
	Execution   Execution
	Scanning    Scanning
	Background  Background
	Posting     Posting
	Peering     Peering
	Admission   Admission

	maxima *Settings // of changes by guests; nil: none
}

// Process configures the process of the operator.
type Process struct {
	// UltimateExitingTimeout limits the graceful exit, from its beginning; then the
	// operator ends by force. Default: 10 min; 0: no limit.
	UltimateExitingTimeout time.Duration
}

// Queueing configures how events of objects wait for their handling.
type Queueing struct {
	WorkerLimit int               // objects handled at once; 0: no limit (default)
	IdleTimeout time.Duration     // a worker without events ends after this time; 5 s
	ExitTimeout time.Duration     // time for running handlers at the exit; 2 s
	ErrorDelays backoffs.Backoffs // pauses of an object after errors of the framework; the last one repeats
}

// Watching configures streams of events.
type Watching struct {
	ServerTimeout     time.Duration // timeout of a watch on the server; 0: the server's choice (default)
	ClientTimeout     time.Duration // timeout of one watch; 0: no limit (default)
	ConnectTimeout    time.Duration // timeout of a connection; 0: Networking.ConnectTimeout (default)
	ReconnectBackoff  time.Duration // pause between two watches; 0.1 s
	InactivityTimeout time.Duration // maximum time without any event or bookmark; 70 s; 0: no limit
	ChunkSize         int           // objects per page of a listing; 500; 0: all at once
	InitialStreaming  bool          // watch the existing objects instead of listing them; false
	LabelSelectors    Filters       // label selectors of objects, by resource
	FieldSelectors    Filters       // field selectors of objects, by resource
	ShardSelectors    Filters       // shard selectors (ranges of hashes), by resource; the first match applies
}

// Networking configures requests.
type Networking struct {
	RequestTimeout    time.Duration     // timeout of one attempt; 5 min; 0: no limit
	ConnectTimeout    time.Duration     // timeout of a connection with its handshake; 0: RequestTimeout (default)
	ErrorBackoffs     backoffs.Backoffs // pauses between attempts
	EnforceRetryAfter bool              // follow a Retry-After that is shorter than the next pause; false
	TrustEnv          bool              // use the proxies of $HTTPS_PROXY and related variables; false
}

// Persistence configures what is stored on objects.
type Persistence struct {
	Finalizer          string
	Progress           stores.ProgressStorage
	DiffBase           stores.DiffBaseStorage
	ConsistencyTimeout time.Duration // how long to wait for the operator's own changes; 5 s
}

// Execution configures calls of handlers.
type Execution struct {
	DefaultBackoff time.Duration // delay after arbitrary errors; 60 s
	MaxWorkers     int           // concurrent handlers, except daemons and reviews; 0: no limit (default)
}

// Scanning configures the discovery of resources and namespaces.
type Scanning struct {
	Disabled bool // do not watch namespaces and resource definitions
}

// Background configures daemons and timers.
type Background struct {
	CancellationPolling time.Duration  // interval in which ending daemons are checked; 60 s
	InstantExitTimeout  *time.Duration // how long a stopped daemon is waited for before the first check; nil: InstantExitCycles
	InstantExitCycles   int            // like InstantExitTimeout, in cycles of 100 ms, until the daemon waits; 10
}

// Posting configures Kubernetes events.
type Posting struct {
	Enabled            bool              // default: true
	Level              int               // the lowest level to post; 20, info
	Loggers            bool              // post log messages too; false
	ReportingComponent string            // default: kopf
	ReportingInstance  string            // default: dev
	EventNamePrefix    string            // default: kopf-event-
	DefaultBackoffs    backoffs.Backoffs // pauses between attempts for events that handlers request
	LoggingBackoffs    backoffs.Backoffs // pauses between attempts for log messages
	WorkerLimit        int               // objects whose events are posted concurrently; 0: no limit (default)
	IdleTimeout        time.Duration     // the worker of an object ends after this time without events; 1 s
}

// Peering configures the coordination with other operators of the same objects.
type Peering struct {
	Name        string        // name of the peering objects; default
	Priority    int           // operators with this or a lower priority pause; 0
	Lifetime    time.Duration // after this time without a renewal, peers take the operator for dead; 60 s
	Stealth     bool          // do not log renewals; false
	Mandatory   bool          // pause while no peering object exists; false
	Standalone  bool          // ignore other operators; false
	Clusterwide *bool         // use cluster-scoped peering objects; nil: if the whole cluster is served
}

// Admission configures how the API server reaches admission handlers.
type Admission struct {
	// Managed is the name of the webhook configurations that the operator maintains in the
	// cluster, and the suffix of the names of webhooks; empty: none (default).
	Managed string

	// Server configures the server that accepts the requests, in JSON; nil: no server
	// (default).
	Server json.RawMessage

	// FromGuest means that a guest has set Server, so that fewer of its options are
	// allowed.
	FromGuest bool
}

// IsClusterwide reports whether the operator uses cluster-scoped peering objects.
func (p Peering) IsClusterwide() bool { return p.Clusterwide != nil && *p.Clusterwide }

// Default returns Kopf's defaults.
func Default() *Settings {
	return &Settings{
		Process: Process{UltimateExitingTimeout: 10 * time.Minute},
		Queueing: Queueing{
			IdleTimeout: 5 * time.Second,
			ExitTimeout: 2 * time.Second,
			ErrorDelays: backoffs.Seconds(1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610),
		},
		Watching: Watching{
			ReconnectBackoff:  100 * time.Millisecond,
			InactivityTimeout: 70 * time.Second,
			ChunkSize:         500,
		},
		Networking: Networking{
			RequestTimeout: 300 * time.Second,
			ErrorBackoffs:  backoffs.Seconds(1, 1, 2, 3, 5, 8, 13, 21),
		},
		Persistence: Persistence{
			Finalizer:          "kopf.zalando.org/KopfFinalizerMarker",
			Progress:           stores.DefaultProgressStorage(),
			DiffBase:           stores.DefaultDiffBaseStorage(),
			ConsistencyTimeout: 5 * time.Second,
		},
		Execution:  Execution{DefaultBackoff: 60 * time.Second},
		Background: Background{CancellationPolling: 60 * time.Second, InstantExitCycles: 10},
		Posting: Posting{
			Enabled:            true,
			Level:              20,
			ReportingComponent: "kopf",
			ReportingInstance:  "dev",
			EventNamePrefix:    "kopf-event-",
			DefaultBackoffs:    backoffs.Seconds(1, 1, 2, 3, 5, 8, 13, 21),
			LoggingBackoffs:    backoffs.Seconds(1, 1, 2, 3, 5),
			IdleTimeout:        time.Second,
		},
		Peering: Peering{Name: "default", Lifetime: 60 * time.Second},
	}
}
