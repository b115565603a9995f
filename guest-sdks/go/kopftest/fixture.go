package kopftest

import (
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/guest"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/hooks"
	"github.com/kopf-wasm/kopf/guest-sdks/go/internal/jsonlite"
	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

// Admission is a review as it comes from the API server.
type Admission = abi.Admission

// Fixture is what a handler is called with. The zero values of all fields mean
// what they mostly are: the first attempt of the creation of an object.
type Fixture struct {
	ID    string // of the handler; "test" by default
	Param any

	Body     any // the object: a map, a struct, or a JSON text ([]byte)
	Resource kopf.ResourceInfo

	Reason   string   // create by default, update if there is an old state
	Old, New any      // whole states; by default, nothing and what matters of the body
	Field    []string // the handler gets this part of the states; empty: all

	EventType string // of events; "" in the initial listing
	Raw       any    // the whole event

	Retry   int
	Started time.Time
	Runtime time.Duration

	Activity  string // of activities: startup and so on
	Settings  any
	Logins    []string // the host's own
	Admission *Admission

	From, To string // of conversions: the versions
}

// Change is the argument of handlers of changes.
func (h *Host) Change(f Fixture) *kopf.Change { return hooks.Change(h.task(f)).(*kopf.Change) }

// Event is the argument of handlers of events.
func (h *Host) Event(f Fixture) *kopf.Event { return hooks.Event(h.task(f)).(*kopf.Event) }

// Timer is the argument of timers.
func (h *Host) Timer(f Fixture) *kopf.Timer { return hooks.Timer(h.task(f)).(*kopf.Timer) }

// Daemon is the argument of daemons.
func (h *Host) Daemon(f Fixture) *kopf.Daemon { return hooks.Daemon(h.task(f)).(*kopf.Daemon) }

// Activity is the argument of handlers for the whole operator.
func (h *Host) Activity(f Fixture) *kopf.Activity { return hooks.Activity(h.task(f)).(*kopf.Activity) }

// Review is the argument of admission handlers.
func (h *Host) Review(f Fixture) *kopf.Review { return hooks.Review(h.task(f)).(*kopf.Review) }

// Conversion is the argument of conversion handlers.
func (h *Host) Conversion(f Fixture) *kopf.Conversion {
	return hooks.Conversion(h.task(f)).(*kopf.Conversion)
}

// Indexed is the argument of functions that fill indices.
func (h *Host) Indexed(f Fixture) *kopf.Indexed { return hooks.Indexed(h.task(f)).(*kopf.Indexed) }

// Cause is the argument of filters. The value is that of the label, the
// annotation or the field; nil means that it is absent.
func (h *Host) Cause(f Fixture, value any) *kopf.Cause {
	v := abi.Value{Absent: value == nil}
	if value != nil {
		v.Value = h.encode(value)
	}
	return hooks.Cause(h.task(f), v).(*kopf.Cause)
}

// task makes the task that a handler thinks it is.
func (h *Host) task(f Fixture) *guest.Task {
	h.tb.Helper()
	h.tasks++
	t := &guest.Task{ID: h.tasks, Call: h.invocation(f), Host: fake{h}}
	if f.Body != nil {
		t.Body = h.encode(f.Body)
		meta := kopf.JSON(t.Body).Get("metadata")
		t.Call.Name, t.Call.Namespace = meta.Get("name").String(), meta.Get("namespace").String()
		t.Call.UID = meta.Get("uid").String()
	}
	h.segments[t.ID] = h.segmentsOf(f, t)
	t.Suspend = func(step *abi.Step) abi.Answer { return h.suspend(t, step) }
	return t
}

func (h *Host) invocation(f Fixture) abi.Invocation {
	call := abi.Invocation{
		ID: f.ID, Retry: f.Retry, Runtime: f.Runtime.Seconds(), Resource: &f.Resource,
		Reason: f.Reason, Field: f.Field, Activity: f.Activity, Logins: f.Logins, Admission: f.Admission,
	}
	if f.From != "" || f.To != "" {
		call.Conversion = &abi.Conversion{From: f.From, To: f.To}
	}
	if call.ID == "" {
		call.ID = "test"
	}
	if call.Reason == "" {
		call.Reason = kopf.ReasonCreate
		if f.Old != nil {
			call.Reason = kopf.ReasonUpdate
		}
	}
	if f.EventType != "" {
		call.EventType = &f.EventType
	}
	if f.Param != nil {
		call.Param = h.encode(f.Param)
	}
	if f.Settings != nil {
		call.Settings = h.encode(f.Settings)
	}
	if !f.Started.IsZero() {
		call.Started = f.Started.UTC().Format(time.RFC3339Nano)
	}
	return call
}

// segmentsOf are the parts of the invocation that are fetched on demand.
func (h *Host) segmentsOf(f Fixture, t *guest.Task) map[int][]byte {
	segments := map[int][]byte{abi.TagFresh: t.Body}
	if f.Raw != nil {
		segments[abi.TagEvent] = h.encode(f.Raw)
	}
	older, newer := f.Old, f.New
	if newer == nil && t.Body != nil && t.Call.Reason != kopf.ReasonDelete {
		newer = essence(kopf.JSON(t.Body).Map())
	}
	before, after := h.part(older, f.Field), h.part(newer, f.Field)
	segments[abi.TagOld], segments[abi.TagNew] = h.encode(before), h.encode(after)
	segments[abi.TagDiff] = h.encode(diff(before, after, nil))
	return segments
}

// part is the value of a field of a state; nil without it.
func (h *Host) part(state any, field []string) any {
	h.tb.Helper()
	value := kopf.JSON(h.encode(state)).Any()
	for _, key := range field {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// encode is a value as JSON; bytes are JSON already.
func (h *Host) encode(value any) []byte {
	h.tb.Helper()
	text, isText := value.([]byte)
	if !isText {
		var err error
		if text, err = jsonlite.Encode(value); err != nil {
			h.tb.Fatalf("kopftest: %v", err)
		}
	}
	if !jsonlite.Valid(text) {
		h.tb.Fatalf("kopftest: this is not JSON: %s", text)
	}
	return text
}
