package patching

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-wasm/kopf/abi"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/loggers"
	"github.com/kopf-wasm/kopf/reactor/patches"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/stores"
)

// Writer reads and patches objects in the cluster.
//
// Kopf: kopf._cogs.clients.patching (v1.45).
type Writer struct {
	Client *clients.Client
	Guard  Guard // nil: no other replica patches the objects
}

// Guard protects objects from being patched by two replicas of an operator.
type Guard interface {
	// Hold returns until when this replica may patch objects.
	//
	// Errors: it may not.
	Hold() (until time.Time, err error)
}

// Target is the object to patch, in its last known state.
type Target struct {
	Resource *selectors.Resource
	Raw      []byte
	Body     dicts.Object // the parts of the body that the host reads
	Log      loggers.Logger
	Work     Work // of decoding, encoding and comparing bodies; nil: it counts nowhere
}

// Written is the result of a patch.
type Written struct {
	Version   string           // the version to wait for; empty: none
	Remaining []Transformation // transformations that lost against newer changes, to be repeated with a newer body
	Gone      bool             // whether the object no longer exists
	Dropped   bool             // whether the server has accepted the patch, but dropped a part of it
}

// Read reads the current object; raw is nil if it is gone, also if another one has its name now. As in Kopf, it returns the
// known state if the operator may not get objects.
func (w *Writer) Read(ctx context.Context, t Target, hooks clients.Hooks, decode func(raw []byte) (dicts.Object, error)) (raw []byte, body dicts.Object, err error) {
	path, err := pathOf(t.Resource, t.Body, "")
	if err != nil {
		return nil, nil, err
	}
	raw, err = w.Client.GetWith(ctx, path, hooks)
	switch code, _ := clients.Code(err); {
	case code == http.StatusNotFound:
		return nil, nil, nil
	case code == http.StatusForbidden:
		t.Log.Debug("Not permitted to read the object; its known state is taken as the newest one.")
		return t.Raw, t.Body, nil
	case err != nil:
		return nil, nil, err
	}
	body, err = decode(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("the object as it was read: %w", err)
	}
	if uidOf(body) != uidOf(t.Body) {
		return nil, nil, nil // the other one has its own events
	}
	return raw, body, nil
}

func uidOf(body dicts.Object) string { return dicts.LookupString(body, "metadata", "uid") }

// Write writes a patch and checks the result.
func (w *Writer) Write(ctx context.Context, t Target, p *Patch, hooks clients.Hooks) (Written, error) {
	if p.Empty() {
		return Written{}, nil
	}
	if w.Guard != nil {
		until, err := w.Guard.Hold()
		if err != nil {
			return Written{}, err
		}
		guarded, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		ctx = guarded
	}
	memory := answers.Get().(*[]byte)
	defer answers.Put(memory)
	one := &writing{client: w.Client, guard: w.Guard, Target: t, merged: p.Merge.Object(), charged: p.Returned(), hooks: hooks, memory: *memory}
	remaining, err := one.write(ctx, p)
	if code, ok := clients.Code(err); ok && code == http.StatusNotFound || errors.Is(err, errAnother) {
		t.Log.Debug("Patching was skipped: the object does not exist anymore.")
		return Written{Gone: true}, nil
	}
	if err != nil {
		return Written{}, err
	}
	if one.answer == nil {
		return Written{Remaining: remaining}, nil
	}
	done := Written{Version: strings.Clone(one.version()), Remaining: remaining}
	if one.result == nil {
		return done, nil // confirmed
	}
	one.compute(ctx, func() {
		if lost := patches.Inconsistencies(one.merged, one.result); len(lost) > 0 {
			t.Log.Warn(fmt.Sprintf("Merge-patching finished with inconsistencies: %s", dicts.Encode(lost[:min(len(lost), mostLost)].JSON())))
			done.Dropped = true
		}
	})
	return done, nil
}

// mostLost is how many inconsistencies a warning has. Each has its whole path, so all of them can be a hundred megabytes of text, of
// which the log takes the beginning.
const mostLost = 100

// answers holds memory for the responses to patches, of which only a version is kept. Longer
// responses get their own memory.
var answers = sync.Pool{New: func() any { return new(make([]byte, 0, usualAnswer)) }} //nolint:gochecknoglobals // shared by all operators

// usualAnswer is more than most objects need, in bytes.
const usualAnswer = 16 << 10

// writing writes one patch in up to four requests, in this order: merge into the body,
// merge into the status, transform the body, transform the status.
type writing struct {
	Target
	client  *clients.Client
	guard   Guard        // nil: the versions of merge patches do not matter
	merged  dicts.Object // all fields to merge
	charged int          // bytes that handlers have returned
	answer  []byte       // the last response; nil: no request yet
	result  dicts.Object // the metadata and the merged fields of the response; nil if it is confirmed
	latest  string       // the version of a confirmed response
	reread  string       // the version as it was read after a conflict; empty: no conflict
	hooks   clients.Hooks
	memory  []byte // for the first response
}

// compute runs a function that only computes, for the text of the body and what handlers have returned: that may be far larger.
func (w *writing) compute(ctx context.Context, do func()) { w.Work.do(ctx, len(w.Raw)+w.charged, do) }

// write returns the transformations that lost against newer changes.
func (w *writing) write(ctx context.Context, p *Patch) ([]Transformation, error) {
	merge, status := w.split(w.merged)
	if err := w.merge(ctx, "", &p.Merge, merge); err != nil {
		return nil, err
	}
	if err := w.merge(ctx, "status", &p.Merge, status); err != nil {
		return nil, err
	}
	remaining, err := w.transformations(ctx, p)
	if own := hosts(p.Transformations); clients.IsInvalid(err) && len(own) > 0 && len(own) < len(p.Transformations) {
		// The finalizer does not wait for what a handler wants: a deletion that is done would begin again, for ever.
		_, failed := w.transformations(ctx, New(own))
		err = errors.Join(err, failed)
	}
	return remaining, err
}

// hosts returns the transformations of the host.
func hosts(all []Transformation) (own []Transformation) {
	for _, t := range all {
		if t.Task == nil {
			own = append(own, t)
		}
	}
	return own
}

// transformations returns those that lost against newer changes: all of them, or none.
func (w *writing) transformations(ctx context.Context, p *Patch) ([]Transformation, error) {
	if len(p.Transformations) == 0 {
		return nil, nil
	}
	fresh, err := w.fresh(ctx, p)
	if err != nil {
		return nil, err
	}
	wanted, err := p.Transformed(ctx, fresh, w.Work)
	if err != nil {
		return nil, err
	}
	w.charged = p.Returned() // with the results of the functions
	var operations []patches.Operation
	w.compute(ctx, func() { operations = patches.Diff(fresh, wanted) })
	bodyOps, statusOps := operations, []patches.Operation(nil)
	if w.Resource.HasStatus() {
		bodyOps, statusOps = patches.Split(operations)
	}
	for _, part := range []struct {
		subresource string
		operations  []patches.Operation
	}{{"", bodyOps}, {"status", statusOps}} {
		lost, err := w.transform(ctx, part.subresource, part.operations)
		if err != nil {
			return nil, err
		}
		if lost {
			return p.Transformations, nil
		}
	}
	return nil, nil
}

// fresh returns the last known object. Functions of guests get the whole object.
func (w *writing) fresh(ctx context.Context, p *Patch) (object dicts.Object, err error) {
	raw := w.answer
	switch {
	case raw != nil:
	case slices.ContainsFunc(p.Transformations, func(t Transformation) bool { return t.Task != nil }):
		raw = w.Raw
	default:
		return w.Body, nil
	}
	w.Work.do(ctx, len(raw), func() { object, err = dicts.DecodeObject(raw) })
	return object, err
}

// split separates the status from a patch if the resource has a status subresource.
func (w *writing) split(merge dicts.Object) (body, status dicts.Object) {
	value, ok := merge["status"]
	if !ok || !w.Resource.HasStatus() {
		return merge, nil
	}
	body = make(dicts.Object, len(merge))
	for key, value := range merge {
		if key != "status" {
			body[key] = value
		}
	}
	if value == nil {
		return body, nil
	}
	return body, dicts.Object{"status": value}
}

// merge sends one part of a merge patch.
func (w *writing) merge(ctx context.Context, subresource string, whole *stores.Patch, part dicts.Object) error {
	if len(part) == 0 {
		return nil
	}
	what := cmp.Or(subresource, "resource")
	for attempt := 1; ; attempt++ {
		var payload []byte
		var err error
		w.Work.do(ctx, w.charged, func() { payload, err = whole.Encode(w.versioned(part)) })
		if err != nil {
			return err
		}
		if w.Log.Uses(abi.LevelDebug) {
			w.Log.Debug(fmt.Sprintf("Merge-patching the %s with: %s", what, payload))
		}
		err = w.send(ctx, subresource, clients.MergePatch, payload)
		if code, _ := clients.Code(err); w.guard == nil || code != http.StatusConflict || attempt == maxConflicts {
			return err
		}
		if err := w.readAgain(ctx); err != nil {
			return err
		}
	}
}

// transform applies operations if the object has not changed since they were made.
// Otherwise it drops them: a newer event will arrive.
//
// Errors: ErrTransformation, if the API server refuses the result.
func (w *writing) transform(ctx context.Context, subresource string, operations []patches.Operation) (lost bool, err error) {
	if len(operations) == 0 {
		return false, nil
	}
	what := cmp.Or(subresource, "resource")
	var payload []byte
	w.compute(ctx, func() { payload, err = json.Marshal(patches.WithTest(w.known(), operations)) })
	if err != nil {
		return false, err
	}
	if w.Log.Uses(abi.LevelDebug) {
		w.Log.Debug(fmt.Sprintf("JSON-patching the %s with: %s", what, payload))
	}
	err = w.send(ctx, subresource, clients.JSONPatch, payload)
	if clients.IsInvalid(err) { // Kopf repeats it for ever, and does not handle the object until it succeeds
		return false, fmt.Errorf("%w: the API server refuses its result: %w", ErrTransformation, err)
	}
	if code, ok := clients.Code(err); ok && code == http.StatusUnprocessableEntity {
		w.Log.Debug("Could not apply the patch in full due to conflicts with newer changes. Will try on the next cycle soon.")
		return true, nil
	}
	return false, err
}

// maxConflicts is how often a guarded merge patch is sent while others change the object.
const maxConflicts = 10

// errAnother means that the object was deleted and made again.
var errAnother = errors.New("it is another object")

// versioned adds the known version to a guarded merge patch, so that the API server refuses it if another replica
// has patched the object since.
func (w *writing) versioned(part dicts.Object) dicts.Object {
	if w.guard == nil {
		return part
	}
	metadata := dicts.Object{}
	if own, ok := part["metadata"].(dicts.Object); ok {
		metadata = maps.Clone(own)
	}
	metadata["resourceVersion"] = w.known()
	part = maps.Clone(part)
	part["metadata"] = metadata
	return part
}

// known is the last known version of the object.
func (w *writing) known() string {
	switch {
	case w.reread != "":
		return w.reread
	case w.answer != nil && w.result == nil:
		return w.latest
	case w.answer != nil:
		return dicts.LookupString(w.result, "metadata", "resourceVersion")
	}
	return dicts.LookupString(w.Body, "metadata", "resourceVersion")
}

// readAgain reads the version of an object that others have changed. The guard is asked afterwards: no other
// replica has made this version then.
func (w *writing) readAgain(ctx context.Context) error {
	path, err := pathOf(w.Resource, w.Body, "")
	if err != nil {
		return err
	}
	raw, err := w.client.GetWith(ctx, path, w.hooks)
	if err != nil {
		return err
	}
	body, err := dicts.DecodeParts(raw, func(parent, key string) bool {
		return parent == "" && key == "metadata" || parent == "metadata" && (key == "resourceVersion" || key == "uid")
	})
	if err != nil {
		return fmt.Errorf("the object as it was read: %w", err)
	}
	if uidOf(body) != uidOf(w.Body) {
		return errAnother
	}
	w.reread = dicts.LookupString(body, "metadata", "resourceVersion")
	_, err = w.guard.Hold()
	return err
}

func (w *writing) send(ctx context.Context, subresource, contentType string, payload []byte) error {
	path, err := pathOf(w.Resource, w.Body, subresource)
	if err != nil {
		return err
	}
	data, err := w.client.PatchInto(ctx, path, contentType, payload, w.hooks, w.memory)
	if err != nil {
		return err
	}
	w.answer, w.memory, w.result, w.reread = data, nil, nil, "" // the result refers to the memory
	w.Work.do(ctx, len(data), func() {
		latest, confirmed := patches.Confirmed(w.merged, data)
		if w.latest = latest; !confirmed {
			w.result, err = dicts.DecodeParts(data, w.concerned)
		}
	})
	if err != nil {
		return fmt.Errorf("the answer to a patch: %w", err)
	}
	return nil
}

// concerned selects the parts of a response to decode: the merged fields, to check them,
// and the fields that identify the version.
func (w *writing) concerned(parent, key string) bool {
	if parent == "" {
		_, merged := w.merged[key]
		return merged || key == "metadata"
	}
	if parent == "metadata" && (key == "resourceVersion" || key == "finalizers" || key == "deletionTimestamp") {
		return true
	}
	part, isObject := w.merged[parent].(dicts.Object)
	_, merged := part[key]
	return merged || !isObject && parent != "metadata"
}

func pathOf(resource *selectors.Resource, body dicts.Object, subresource string) (apipath.Path, error) {
	return resource.URL(dicts.LookupString(body, "metadata", "namespace"), dicts.LookupString(body, "metadata", "name"), subresource)
}

// version returns the least version of the events to wait for. It is empty if nothing has
// changed, because no event follows. It is also empty after the removal of the last
// finalizer, because the object disappears without a new version.
func (w *writing) version() string {
	version := w.latest
	if w.result != nil {
		version = dicts.LookupString(w.result, "metadata", "resourceVersion")
	}
	switch {
	case w.result != nil && causes.IsReleased(w.result):
		return version + "~which~never~arrives"
	case version == dicts.LookupString(w.Body, "metadata", "resourceVersion"):
		return ""
	}
	return version
}
