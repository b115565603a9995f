// Package settings holds the settings of an operator, with the names, units and
// defaults of the reference.
//
// Kopf: kopf.OperatorSettings (v1.45); https://docs.kopf.dev/en/latest/configuration/
package settings

import (
	"encoding/json"
	"time"

	"github.com/kopf-wasm/kopf/reactor/backoffs"
	"github.com/kopf-wasm/kopf/stores"
)

// Settings are all settings that take effect. They are changed at the start only:
// by a file, then by flags, then by startup handlers; afterwards they are read
// without locks.
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
}

// Process is about the process of the operator.
type Process struct {
	// UltimateExitingTimeout is how long the graceful exit may take, from its
	// beginning on; then the operator ends by force. 10 min; 0: no limit.
	UltimateExitingTimeout time.Duration
}

// Queueing is how the events of objects wait for their handling.
type Queueing struct {
	WorkerLimit int               // objects handled at once; 0: no limit (default)
	IdleTimeout time.Duration     // a worker without events ends after it; 5 s
	ExitTimeout time.Duration     // for running handlers at the exit; 2 s
	ErrorDelays backoffs.Backoffs // pauses of an object after errors of the framework; the last one is repeated
}

// Watching is how streams of events are kept.
type Watching struct {
	ServerTimeout     time.Duration // asked of the server; 0: its own choice (default)
	ClientTimeout     time.Duration // for one watch; 0: none (default)
	ConnectTimeout    time.Duration // for a connection; 0: as Networking has it (default)
	ReconnectBackoff  time.Duration // between two watches; 0.1 s
	InactivityTimeout time.Duration // without any event or bookmark; 70 s; 0: for ever
	ChunkSize         int           // objects per page of a listing; 500; 0: all at once
	InitialStreaming  bool          // watch the existing objects instead of listing them; false
	LabelSelectors    Filters       // of objects, by resources
	FieldSelectors    Filters       // the same by fields
	ShardSelectors    Filters       // the same by ranges of hashes; the first one counts
}

// Networking is how requests are made.
type Networking struct {
	RequestTimeout    time.Duration     // for one attempt; 5 min; 0: no limit
	ConnectTimeout    time.Duration     // for a connection and its handshake; 0: RequestTimeout (default)
	ErrorBackoffs     backoffs.Backoffs // pauses between attempts
	EnforceRetryAfter bool              // false
	TrustEnv          bool              // take proxies from $HTTPS_PROXY and the like; false
}

// Persistence is what is stored on objects.
type Persistence struct {
	Finalizer          string
	Progress           stores.ProgressStorage
	DiffBase           stores.DiffBaseStorage
	ConsistencyTimeout time.Duration // how long to wait for our own changes; 5 s
}

// Execution is how handlers are called.
type Execution struct {
	DefaultBackoff time.Duration // after arbitrary errors; 60 s
	MaxWorkers     int           // handlers at once, but for daemons and reviews; 0: no limit (default)
}

// Scanning is how the cluster is explored.
type Scanning struct {
	Disabled bool // no watching of namespaces and of resource definitions
}

// Background is about daemons and timers.
type Background struct {
	CancellationPolling time.Duration  // how often ending daemons are looked at; 60 s
	InstantExitTimeout  *time.Duration // how long a stopped daemon is waited for before that; nil: InstantExitCycles
	InstantExitCycles   int            // the same in cycles of 100 ms, at most until it waits; 10
}

// Posting is about Kubernetes events.
type Posting struct {
	Enabled            bool              // true
	Level              int               // the lowest level to post; 20, info
	Loggers            bool              // post log messages too; false
	ReportingComponent string            // kopf
	ReportingInstance  string            // dev
	EventNamePrefix    string            // kopf-event-
	DefaultBackoffs    backoffs.Backoffs // pauses between attempts for explicit events
	LoggingBackoffs    backoffs.Backoffs // the same for log messages
	WorkerLimit        int               // objects whose events are posted at once; 0: no limit (default)
	IdleTimeout        time.Duration     // the worker of an object ends after so long without events; 1 s
}

// Peering is about other operators for the same objects.
type Peering struct {
	Name        string        // of the peering objects; default
	Priority    int           // operators with a lower or an equal one pause; 0
	Lifetime    time.Duration // after which the others take us for dead; 60 s
	Stealth     bool          // keep-alives are not logged; false
	Mandatory   bool          // pause while there is no peering object; false
	Standalone  bool          // do not look for others; false
	Clusterwide *bool         // by cluster-scoped objects; nil: whether the whole cluster is served
}

// Admission is how the API server reaches admission handlers.
type Admission struct {
	// Managed is the name of the webhook configurations that are kept in the
	// cluster, and the suffix of the names of webhooks; empty: none (default).
	Managed string

	// Server is what accepts the requests, in its JSON form; nil: nothing (default).
	Server json.RawMessage

	// FromGuest says that a guest has set Server, so it may say less there.
	FromGuest bool
}

// IsClusterwide tells whether the operators meet in cluster-scoped objects.
func (p Peering) IsClusterwide() bool { return p.Clusterwide != nil && *p.Clusterwide }

// Default returns the defaults of the reference.
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
			Progress:           stores.NewSmartProgress(stores.SmartProgressOptions{}),
			DiffBase:           stores.NewAnnotationsDiffBase(stores.AnnotationsDiffBaseOptions{}),
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

// Seconds converts a number of seconds, as all settings and options have them; see backoffs.Duration.
func Seconds(n float64) time.Duration { return backoffs.Duration(n) }
