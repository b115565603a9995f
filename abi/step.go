package abi

import "strings"

// StepKind is the kind of a step.
type StepKind string

// Kinds of steps.
const (
	StepDone    StepKind = "done"    // the handler ended
	StepWait    StepKind = "wait"    // the task waits
	StepExecute StepKind = "execute" // the host runs the children now
	StepCall    StepKind = "call"    // a request to Kubernetes or to an HTTP server
)

// Step is the result of start and resume.
type Step struct {
	Step StepKind `json:"step"`

	Outcome // StepDone

	// Seconds to wait: StepWait. Absent: indefinitely. The wait ends earlier if the task
	// is cancelled. StepCall: to wait for the response; then the answer is empty, and the
	// next step decides by Continue whether the request continues.
	Seconds *float64 `json:"seconds,omitempty"`

	// Stoppable ends the wait when the daemon has to stop, or at once if it has to stop already.
	Stoppable bool `json:"stoppable,omitempty"`

	// Children are the sub-handlers. In StepExecute, they are run now; in
	// StepDone, after the parent. Their Kind is KindSub. StepExecute can have the Patch so far, which their
	// patches follow; StepDone repeats it, with what was changed since.
	Children []Handler `json:"children,omitempty"`

	// Lifecycle of the children. By default, that of the operator.
	Lifecycle string `json:"lifecycle,omitempty"`

	Call *Call `json:"call,omitempty"` // StepCall

	// Continue waits for the response to the request of the last step: StepCall, in place of
	// Call. Any other step abandons that request.
	Continue bool `json:"continue,omitempty"`
}

// Outcome is the end of a handler. The zero Outcome is a success without a
// result and without a patch.
//
// Kopf: kopf._core.actions.execution.Outcome (v1.45).
type Outcome struct {
	// Result is stored in the status of the object, under the id of the handler.
	// Absent and null store nothing.
	//
	// See https://docs.kopf.dev/en/latest/results/
	Result Raw `json:"result,omitempty"`

	// Patch is merged into the patch of the cycle (RFC 7386), also after errors.
	//
	// See https://docs.kopf.dev/en/latest/patches/
	Patch Raw `json:"patch,omitempty"`

	// Transforms is the number of transformation functions of the patch. If it is
	// not zero, the task exists until it is released, and answers transform.
	Transforms int `json:"transforms,omitempty"`

	Error *Error `json:"error,omitempty"`

	Warnings []string `json:"warnings,omitempty"` // admission: shown to the user

	// Settings are changes of the settings by their dotted names: startup only.
	Settings map[string]Raw `json:"settings,omitempty"`

	// Keyed means that the result of an index handler is a list of pairs
	// [key, value], not a value.
	Keyed bool `json:"keyed,omitempty"`
}

// ErrorKind is the meaning of an error for the handler.
type ErrorKind string

// Kinds of errors.
const (
	ErrorTemporary ErrorKind = "temporary" // retried after its delay
	ErrorPermanent ErrorKind = "permanent" // never retried
	ErrorArbitrary ErrorKind = "arbitrary" // the option errors decides
	ErrorAdmission ErrorKind = "admission" // refuses a review; permanent elsewhere
	ErrorChildren  ErrorKind = "children"  // execute could not continue: see Answer.Pending
)

// Error is an error of a handler or of a callback.
//
// See https://docs.kopf.dev/en/latest/errors/
type Error struct {
	Kind    ErrorKind `json:"kind"`
	Message string    `json:"message"`
	Type    string    `json:"type,omitempty"`  // the name in the language; shown if the message is empty
	Stack   string    `json:"stack,omitempty"` // for the log
	Delay   Delay     `json:"delay,omitzero"`  // temporary: 60 seconds by default
	Code    int       `json:"code,omitempty"`  // admission: the HTTP status; 500 by default
}

// Text is the error for users: its message; without one, the error as the
// reference represents it, without package and parameters of its type. A type
// that ends with a parenthesis is such a representation already.
func (e *Error) Text() string {
	switch {
	case e.Message != "":
		return e.Message
	case strings.HasSuffix(e.Type, ")"):
		return e.Type
	case e.Kind == ErrorAdmission:
		return "AdmissionError('')"
	case e.Kind == ErrorPermanent:
		return "PermanentError('')"
	case e.Kind == ErrorTemporary:
		return "TemporaryError('')"
	}
	name, _, _ := strings.Cut(e.Type, "[")
	return name[strings.LastIndexByte(name, '.')+1:] + "()"
}

// Answer is the argument of resume: the request is fulfilled.
type Answer struct {
	// Stopped means that a wait ended because the daemon must stop. It has the names
	// of reasons, as in SPEC.md, "Stop reasons".
	Stopped []string `json:"stopped,omitempty"`

	// Cancelled means that the task must end. Later waits last, so that it can clean up.
	Cancelled bool `json:"cancelled,omitempty"`

	// Pending means that children are unfinished: the handler must return with
	// ErrorChildren, and is then called again from its beginning.
	Pending bool `json:"pending,omitempty"`

	Response *Response `json:"response,omitempty"` // to StepCall
	Error    *Error    `json:"error,omitempty"`    // to StepCall, without a response
}

// Targets of calls.
const (
	TargetKubernetes = "kubernetes" // the API server of the operator
	TargetHTTP       = "http"       // any other server
)

// EncodingBase64 means that a body is a JSON string with its bytes in base64.
const EncodingBase64 = "base64"

// Codes of calls without a response: the types of their errors.
const (
	CallNotGranted  = "NotGranted"  // the administrator of the operator has not granted it
	CallInvalid     = "Invalid"     // the call is malformed
	CallReadOnly    = "ReadOnly"    // the handler may not write now
	CallTooLarge    = "TooLarge"    // the request or the response exceeds a limit
	CallNotReady    = "NotReady"    // the operator is not connected yet
	CallTimeout     = "Timeout"     // no response in time
	CallUnreachable = "Unreachable" // no connection, or a broken one
	CallCancelled   = "Cancelled"   // the task was cancelled meanwhile
)

// Call is a request that the host makes for the guest, within its capabilities.
type Call struct {
	// Target is kubernetes (Path is a path of the API) or http (Path is a URL).
	Target   string              `json:"target"`
	Method   string              `json:"method"`
	Path     string              `json:"path"`
	Headers  map[string][]string `json:"headers,omitempty"`
	Body     Raw                 `json:"body,omitempty"`     // JSON, or a JSON string for other bodies
	Encoding string              `json:"encoding,omitempty"` // of a string body: empty, or base64
	Timeout  *float64            `json:"timeout,omitempty"`  // seconds; the host has a limit of its own
	Verbatim bool                `json:"verbatim,omitempty"` // the body of the response is a string, never JSON
}

// Response is the answer to a call.
type Response struct {
	Status   int                 `json:"status"`
	Headers  map[string][]string `json:"headers,omitempty"`
	Body     Raw                 `json:"body,omitempty"`     // JSON, or a JSON string for other bodies
	Encoding string              `json:"encoding,omitempty"` // of a string body: empty, or base64
}

// TransformResult is the result of transform: the whole body after all
// transformation functions, or an error.
type TransformResult struct {
	Body  Raw    `json:"body,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Event is the argument of the host function event: a Kubernetes event about an object.
//
// See https://docs.kopf.dev/en/latest/events/
type Event struct {
	// Level is the level of the event: 20 info, 30 warn, 40 exception. Events below
	// posting.level are not posted; 0 means no level.
	Level   int    `json:"level,omitempty"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Object  Raw    `json:"object,omitempty"` // apiVersion, kind, metadata; the handled object by default

	// Backoffs are the pauses in seconds between attempts to post it: a number, a list,
	// or an object, as in settings; an empty list is one attempt. By default, those of the
	// setting posting.default_backoffs.
	Backoffs Raw `json:"backoffs,omitempty"`
}
