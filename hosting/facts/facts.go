// Package facts defines what a host says about its operators: the content of /statusz, of
// the metrics for each operator and of the commands that show operators. It holds types
// only.
//
// The names of the JSON fields are stable: fields may be added within a Schema.
//
// See docs/hosting.md.
package facts

import (
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/reactor/meters"
)

// Schema identifies the form of a Report.
const Schema = "hosting.kopf.dev/statusz/v1"

// Bounds of the facts of one operator. Texts are cut, and are on one line without control
// characters.
const (
	MaxText      = 1000 // bytes of a text
	MaxResources = 50
	MaxErrors    = 5
	MaxHandlers  = 50 // counted by handler and reason
)

// Report is the state of a host and its operators.
type Report struct {
	Schema    string     `json:"schema"`
	Time      time.Time  `json:"time"`
	Host      Host       `json:"host"`
	Operators []Operator `json:"operators"` // sorted by namespace and name

	// Omitted is the number of operators that the report does not contain, because it has
	// too many.
	Omitted int `json:"omitted,omitempty"`
}

// Host is the state of the process.
type Host struct {
	Version    string    `json:"version"`
	Started    time.Time `json:"started"`
	Operators  int       `json:"operators"`
	Ready      int       `json:"ready"` // operators that serve as declared
	HeapBytes  uint64    `json:"heapBytes"`
	Goroutines int       `json:"goroutines"`

	Memory   *SharedMemory `json:"memory,omitempty"`   // nil: the memory of the process is not known
	Replicas *Replicas     `json:"replicas,omitempty"` // nil: the host has no replicas
}

// SharedMemory is the memory that all operators of a host have together, in bytes.
type SharedMemory struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit"`
}

// HostMemory names the limit of SharedMemory in the limits of an operator: it gets no more while the operators of its namespace have twice of what
// is left. No declaration can set it.
const HostMemory = "HostMemory"

// Replicas is what a host knows about the hosts with the same declarations.
type Replicas struct {
	Name   string `json:"name"`             // of this host in the Lease
	Leader string `json:"leader,omitempty"` // the host that runs the operators, or decides what all hosts run; empty: unknown
	Leads  bool   `json:"leads"`            // it is this one

	Shared  bool `json:"shared,omitempty"`  // all hosts run the operators, and share the objects
	Members int  `json:"members,omitempty"` // how many hosts share the objects
}

// Operator is the state of one declared operator.
type Operator struct {
	Kind      api.Kind `json:"kind"`
	Namespace string   `json:"namespace,omitempty"` // empty for the cluster kind
	Name      string   `json:"name"`
	Account   string   `json:"account,omitempty"` // that makes the requests: system:serviceaccount:…

	Module     Module          `json:"module"`
	Ready      bool            `json:"ready"`
	Reason     string          `json:"reason,omitempty"` // of the condition Ready
	Conditions []api.Condition `json:"conditions"`
	Restarts   int             `json:"restarts"`          // since the spec has changed
	Started    *time.Time      `json:"started,omitempty"` // nil: it does not run
	Standby    bool            `json:"standby,omitempty"` // it is loaded, and another host runs it
	Host       string          `json:"host,omitempty"`    // that the facts are about; empty: the host has no replicas, or none leads

	Work   Work    `json:"work"`
	Memory Memory  `json:"memory"`
	Limits []Limit `json:"limits"`
	Errors []Error `json:"lastErrors"` // the oldest one first

	Measured Measured `json:"measured"`
}

// Title is the name of the operator, with its namespace if it has one: team/mailer.
func (o *Operator) Title() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// Module is what an operator runs.
type Module struct {
	Declared  string   `json:"declared"`           // as in the declaration
	Artifact  string   `json:"artifact,omitempty"` // that runs: the reference with the digest
	Digest    string   `json:"digest,omitempty"`   // of the module that runs: sha256:…
	Handlers  int      `json:"handlers"`
	Resources []string `json:"resources"` // that the operator watches, at most MaxResources
}

// Work is what an operator does. Counts of calls begin when the operator starts, and
// computing time and stopped calls when its module was loaded.
type Work struct {
	Objects          int     `json:"objects"`          // that the operator remembers
	Daemons          int     `json:"daemons"`          // running daemons and timers
	Queued           int     `json:"queued"`           // events that wait
	Working          int     `json:"working"`          // objects that are handled, including those of Retries
	Retries          int     `json:"retries"`          // objects that wait for the next attempt of a handler
	Calls            uint64  `json:"calls"`            // calls of handlers that have ended
	Errors           uint64  `json:"errors"`           // calls of handlers that have ended with an error
	Lost             int64   `json:"lost"`             // calls of the module that trapped or exceeded a limit
	Instances        int     `json:"instances"`        // of the module
	ComputingSeconds float64 `json:"computingSeconds"` // of the module
	EventsDropped    int     `json:"eventsDropped"`    // Kubernetes events that were dropped, as too many were pending
	Paused           bool    `json:"paused,omitempty"` // by other operators

	OldestSeconds float64 `json:"oldestSeconds"` // how long the oldest event has waited; 0 if none waits
}

// Measured is what an operator has measured since it started.
type Measured struct {
	Handlers []Handler           `json:"handlers"`        // by handler and reason, in this order, at most MaxHandlers
	Requests map[string]uint64   `json:"requests"`        // requests to Kubernetes by the status of the response; none: no response came
	Spans    *Spans              `json:"spans,omitempty"` // nil: the host sends no traces
	Took     meters.Distribution `json:"-"`               // how long the calls of handlers took
}

// Spans are the spans of an operator since it was declared.
type Spans struct {
	Sent    uint64 `json:"sent"`    // that the collector has accepted
	Dropped uint64 `json:"dropped"` // because too many of the operator waited, or the collector has not accepted them
}

// Handler is what a handler has done for one reason since the operator has started.
type Handler struct {
	Handler string            `json:"handler"` // its id; with the suffix /* all of its sub-handlers
	Reason  string            `json:"reason"`  // of the change, or else the kind of the handler
	Calls   map[string]uint64 `json:"calls"`   // that have ended, by outcome
	Retries uint64            `json:"retries"` // calls that repeat an earlier one
	Running int64             `json:"running"` // calls that run now
	Seconds float64           `json:"seconds"` // the time of all calls, including waits
}

// Memory is the memory of an operator, in bytes.
type Memory struct {
	Instances int64 `json:"instances"` // of instances; shared pages count for each of them
	Host      int64 `json:"host"`      // of the host, held for handlers
}

// Limit is a limit of an operator that has counted something.
type Limit struct {
	Name  string `json:"name"`            // as in spec.limits, or HostMemory
	Used  int64  `json:"used,omitempty"`  // in bytes; 0 if the limit is not about memory
	Limit int64  `json:"limit,omitempty"` // in bytes; 0 if the limit is not about memory
	Hits  int64  `json:"hits"`            // how often the limit has refused, delayed or dropped something
}

// MaxDaemons bounds the daemons and timers of an Object.
const MaxDaemons = 50

// Object is what an operator does for one object now.
type Object struct {
	Known   bool       `json:"known"`            // the operator remembers the object
	Waiting int        `json:"waiting"`          // events of the object that wait
	Working bool       `json:"working"`          // an event of the object is handled
	Sleeps  string     `json:"sleeps,omitempty"` // what the handling waits for: retry, throttled, loop or patch; empty: for nothing
	Until   *time.Time `json:"until,omitempty"`  // when it continues, unless an event arrives before
	Daemons []string   `json:"daemons"`          // ids of running daemons and timers, at most MaxDaemons
}

// Error is an error in the log of an operator.
type Error struct {
	Time    time.Time `json:"time"`
	Message string    `json:"message"`
}
