// Package settings holds the settings of an operator, with the names, units and
// defaults of the reference.
//
// Kopf: kopf.OperatorSettings (v1.45); https://docs.kopf.dev/en/latest/configuration/
package settings

import (
	"encoding/json"
	"time"

	"github.com/kopf-wasm/kopf/stores"
)

// Settings are all settings that take effect. They are changed at the start only:
// by flags and by startup handlers; afterwards they are read without locks.
type Settings struct {
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

// Queueing is how the events of objects wait for their handling.
type Queueing struct {
	WorkerLimit int             // objects handled at once; 0: no limit (default)
	IdleTimeout time.Duration   // a worker without events ends after it; 5 s
	ExitTimeout time.Duration   // for running handlers at the exit; 2 s
	ErrorDelays []time.Duration // pauses of an object after errors of the framework
}

// Watching is how streams of events are kept.
type Watching struct {
	ServerTimeout     time.Duration // asked of the server; 0: its own choice (default)
	ClientTimeout     time.Duration // for one watch; 0: none (default)
	ReconnectBackoff  time.Duration // between two watches; 0.1 s
	InactivityTimeout time.Duration // without any event or bookmark; 70 s
	ChunkSize         int           // objects per page of a listing; 0: all at once (default)
}

// Networking is how requests are made.
type Networking struct {
	RequestTimeout    time.Duration   // 5 min
	ErrorBackoffs     []time.Duration // pauses between attempts
	EnforceRetryAfter bool            // false
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
}

// Scanning is how the cluster is explored.
type Scanning struct {
	Disabled bool // no watching of namespaces and of resource definitions
}

// Background is about daemons and timers.
type Background struct {
	CancellationPolling time.Duration // how often ending daemons are looked at; 60 s
}

// Posting is about Kubernetes events.
type Posting struct {
	Enabled            bool            // true
	Level              int             // the lowest level to post; 20, info
	Loggers            bool            // post log messages too; false
	ReportingComponent string          // kopf
	ReportingInstance  string          // dev
	EventNamePrefix    string          // kopf-event-
	DefaultBackoffs    []time.Duration // pauses between attempts for explicit events
	LoggingBackoffs    []time.Duration // the same for log messages
	WorkerLimit        int             // objects whose events are posted at once; 0: no limit (default)
}

// Peering is about other operators for the same objects.
type Peering struct {
	Name        string        // of the peering objects; default
	Priority    int           // operators with a lower or an equal one pause; 0
	Lifetime    time.Duration // after which the others take us for dead; 60 s
	Stealth     bool          // keep-alives are not logged; false
	Mandatory   bool          // pause while there is no peering object; false
	Standalone  bool          // do not look for others; false
	Clusterwide bool          // by cluster-scoped objects; at the start set to whether the cluster is served
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

// Default returns the defaults of the reference.
func Default() *Settings {
	return &Settings{
		Queueing: Queueing{
			IdleTimeout: 5 * time.Second,
			ExitTimeout: 2 * time.Second,
			ErrorDelays: seconds(1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610),
		},
		Watching: Watching{
			ReconnectBackoff:  100 * time.Millisecond,
			InactivityTimeout: 70 * time.Second,
		},
		Networking: Networking{
			RequestTimeout: 300 * time.Second,
			ErrorBackoffs:  seconds(1, 1, 2, 3, 5, 8, 13, 21),
		},
		Persistence: Persistence{
			Finalizer:          "kopf.zalando.org/KopfFinalizerMarker",
			Progress:           stores.NewSmartProgress(stores.SmartProgressOptions{}),
			DiffBase:           stores.NewAnnotationsDiffBase(stores.AnnotationsDiffBaseOptions{}),
			ConsistencyTimeout: 5 * time.Second,
		},
		Execution:  Execution{DefaultBackoff: 60 * time.Second},
		Background: Background{CancellationPolling: 60 * time.Second},
		Posting: Posting{
			Enabled:            true,
			Level:              20,
			ReportingComponent: "kopf",
			ReportingInstance:  "dev",
			EventNamePrefix:    "kopf-event-",
			DefaultBackoffs:    seconds(1, 1, 2, 3, 5, 8, 13, 21),
			LoggingBackoffs:    seconds(1, 1, 2, 3, 5),
		},
		Peering: Peering{Name: "default", Lifetime: 60 * time.Second},
	}
}

func seconds(numbers ...float64) []time.Duration {
	durations := make([]time.Duration, len(numbers))
	for i, n := range numbers {
		durations[i] = Seconds(n)
	}
	return durations
}

// Seconds converts a number of seconds, as all settings and options have them.
func Seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
