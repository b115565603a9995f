package explanation

import (
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/reactor/causes"
)

// Explanation is what an operator makes of an object.
type Explanation struct {
	Object     Object     `json:"object"`
	Cause      Cause      `json:"cause"`
	Handlers   []Handler  `json:"handlers"`
	Finalizers Finalizers `json:"finalizers"`
	Deletion   *Deletion  `json:"deletion,omitempty"` // nil: the object is not being deleted
	Peers      []Peer     `json:"peers,omitempty"`    // in the peering objects of the operator
	Notes      []string   `json:"notes,omitempty"`    // what is unknown or guessed
}

// Object identifies the object.
type Object struct {
	Resource  string `json:"resource"` // kopfexamples.v1.kopf.dev
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// Cause is why the handlers of changes are called, if an event of the object arrives.
type Cause struct {
	Reason causes.Reason `json:"reason"` // create, update, delete, noop, or free
	Why    string        `json:"why"`

	// AtStart is the reason if the operator starts now; it then calls handlers for resuming, too.
	AtStart  causes.Reason `json:"atStart"`
	Resuming bool          `json:"resuming"`

	Handled bool     `json:"handled"` // whether the object has a last handled state
	Diff    []Change `json:"diff,omitempty"`
}

// Change is one difference between the last handled state and the current one.
type Change struct {
	Op    string `json:"op"`    // add, change, or remove
	Field string `json:"field"` // spec.field
	Old   any    `json:"old,omitempty"`
	New   any    `json:"new,omitempty"`
}

// Verdict says what becomes of a handler.
type Verdict string

// The verdicts.
const (
	Due       Verdict = "due"       // is called at the next event
	Delayed   Verdict = "delayed"   // is called later: see Progress.Next
	Succeeded Verdict = "succeeded" // has succeeded for this cause
	Failed    Verdict = "failed"    // has failed for good for this cause
	Runs      Verdict = "runs"      // a daemon or a timer
	Spies     Verdict = "spies"     // is called for each event, or indexes the object
	Reviews   Verdict = "reviews"   // is called for requests of the API server
	AtStart   Verdict = "at start"  // is called when the operator starts
	Excluded  Verdict = "no"        // see Why
	Unknown   Verdict = "unknown"   // a function of the module has failed: see Why
)

// Handler is what becomes of one handler.
type Handler struct {
	ID       string    `json:"id"`
	Kind     abi.Kind  `json:"kind"`
	Resource string    `json:"resource"` // its selector
	Verdict  Verdict   `json:"verdict"`
	Why      []string  `json:"why,omitempty"` // why it is not called, or which function has decided
	Progress *Progress `json:"progress,omitempty"`
}

// Progress is the stored progress of a handler.
type Progress struct {
	ID          string     `json:"id"`
	Purpose     string     `json:"purpose,omitempty"` // the reason for which it was called: create
	Attempts    int        `json:"attempts"`
	Started     time.Time  `json:"started"`
	Stopped     *time.Time `json:"stopped,omitempty"`
	Next        *time.Time `json:"next,omitempty"` // of the next attempt; nil: now, or never
	Due         time.Time  `json:"due,omitzero"`   // since when the next attempt is due; zero: it is not
	Success     bool       `json:"success"`
	Failure     bool       `json:"failure"`
	Error       string     `json:"error,omitempty"` // the last one
	Subhandlers []Progress `json:"subhandlers,omitempty"`
}

// Finalizers are those of the object.
type Finalizers struct {
	Own        string   `json:"own"` // the operator's
	Present    bool     `json:"present"`
	RequiredBy []string `json:"requiredBy,omitempty"` // ids of handlers; none: the operator removes it
	Foreign    []string `json:"foreign,omitempty"`    // of others
}

// Deletion is that of an object that is being deleted.
type Deletion struct {
	Since     string   `json:"since"`
	BlockedBy []string `json:"blockedBy,omitempty"` // in words
}

// Peer is an operator in a peering object.
type Peer struct {
	Object   string    `json:"object"` // the peering object
	Identity string    `json:"identity"`
	Priority int       `json:"priority"`
	LastSeen time.Time `json:"lastSeen"`
	Dead     bool      `json:"dead"` // has not renewed its record in time
}
