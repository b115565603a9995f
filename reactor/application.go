package reactor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/causes"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/patches"
	"github.com/kopf-wasm/kopf/reactor/selectors"
	"github.com/kopf-wasm/kopf/reactor/settings"
	"github.com/kopf-wasm/kopf/stores"
)

// longestSleep is how long one sleep for delayed handlers lasts at most: then the
// object is touched, so that the logs show that it is not forgotten.
const longestSleep = 10 * time.Minute

// applier writes what a cycle has decided: one patch, then perhaps a touch.
//
// Kopf: kopf._core.actions.application, kopf._cogs.clients.patching (v1.45).
type applier struct {
	client   *clients.Client
	settings *settings.Settings
}

// application is what was applied in a cycle.
type application struct {
	version   string           // to wait for; empty: none
	remaining []transformation // to be repeated with a fresher body
	idle      bool             // there was nothing to do, and nothing to wait for
	gone      bool             // the object does not exist anymore
}

// apply patches the object if there is something to patch. Otherwise it sleeps
// until the next handler is due, and touches the object to get an event then,
// unless something happens earlier.
func (a *applier) apply(ctx context.Context, c *cause, delays []time.Duration) (application, error) {
	progress := a.settings.Persistence.Progress
	patched := !c.patch.empty()
	if patched {
		if err := progress.Touch(c.body, &c.patch.merge, nil); err != nil {
			return application{}, err
		}
	}
	done, err := a.patch(ctx, c, c.patch)
	c.spawned.release()
	if err != nil || len(delays) == 0 {
		done.idle = !patched
		return done, err
	}
	delay := shortest(delays)
	if patched {
		if delay > 0 {
			c.log.debug(fmt.Sprintf("Sleeping was skipped because of the patch, %v seconds left.", delay.Seconds()))
		}
		return done, nil
	}
	if left := a.sleep(ctx, c, delay); left > 0 {
		c.log.debug(fmt.Sprintf("Sleeping was interrupted by new changes, %v seconds left.", left.Seconds()))
		return done, nil
	}
	return a.touch(ctx, c)
}

func (a *applier) sleep(ctx context.Context, c *cause, delay time.Duration) (left time.Duration) {
	switch {
	case delay > longestSleep:
		c.log.debug(fmt.Sprintf("Sleeping for %v (capped %v) seconds for the delayed handlers.", delay.Seconds(), longestSleep.Seconds()))
	case delay > 0:
		c.log.debug(fmt.Sprintf("Sleeping for %v seconds for the delayed handlers.", delay.Seconds()))
	default:
		return 0
	}
	c.leave()
	return c.queue.sleep(ctx, min(delay, longestSleep))
}

// touch makes a change without a meaning, so that the object comes back.
func (a *applier) touch(ctx context.Context, c *cause) (application, error) {
	value := stores.FormatTime(time.Now())
	touch := newPatch(nil)
	if err := a.settings.Persistence.Progress.Touch(c.body, &touch.merge, &value); err != nil {
		return application{}, err
	}
	return a.patch(ctx, c, touch)
}

func shortest(delays []time.Duration) time.Duration {
	least := delays[0]
	for _, delay := range delays[1:] {
		least = min(least, delay)
	}
	return least
}

// document is an object as bytes and decoded.
type document struct {
	raw  []byte
	body dicts.Object
}

// read gets the object as it is now. It is nil if the object is gone. Without the
// right to get objects, the known state has to do, as in the reference.
func (a *applier) read(ctx context.Context, c *cause, kept func(parent, key string) bool) (*document, error) {
	path, err := pathOf(*c.resource, c.body, "")
	if err != nil {
		return nil, err
	}
	raw, err := a.client.Get(c.queue.untilSent(ctx), path, nil)
	switch code, _ := clients.Code(err); {
	case code == http.StatusNotFound:
		return nil, nil
	case code == http.StatusForbidden:
		c.log.debug("Not permitted to read the object; its known state is taken as the newest one.")
		return &document{c.raw, c.body}, nil
	case err != nil:
		return nil, err
	}
	body, err := dicts.DecodeParts(raw, kept)
	if err != nil {
		return nil, fmt.Errorf("the object as it was read: %w", err)
	}
	return &document{raw, body}, nil
}

// patch writes a patch and checks what came of it.
func (a *applier) patch(ctx context.Context, c *cause, p *patch) (application, error) {
	if p.empty() {
		return application{}, nil
	}
	w := &writing{
		client: a.client, resource: *c.resource, before: document{c.raw, c.body}, merged: p.merge.Object(), log: c.log,
		release: func() { c.queue.leave(ctx) },
	}
	remaining, err := w.write(c.queue.untilSent(ctx), p)
	if code, ok := clients.Code(err); ok && code == http.StatusNotFound {
		c.log.debug("Patching was skipped: the object does not exist anymore.")
		return application{gone: true}, nil
	}
	if err != nil {
		return application{}, err
	}
	if w.result == nil {
		return application{remaining: remaining}, nil
	}
	if lost := patches.Inconsistencies(w.merged, w.result); len(lost) > 0 {
		c.log.warn(fmt.Sprintf("Merge-patching finished with inconsistencies: %s", dicts.Encode(lost.JSON())))
	}
	return application{version: w.version(), remaining: remaining}, nil
}

// writing is the writing of one patch: up to four requests, in this order: the
// body and the status merged, the body and the status transformed.
type writing struct {
	client   *clients.Client
	resource selectors.Resource
	before   document     // as the cycle began
	merged   dicts.Object // all that is to be merged
	answer   []byte       // what the server has answered last; nil: no request
	result   dicts.Object // of this, the metadata and what was merged
	log      logger
	release  func() // gives up what others wait for, before a pause
}

// write returns the transformations that lost against newer changes.
func (w *writing) write(ctx context.Context, p *patch) ([]transformation, error) {
	merge, status := w.split(w.merged)
	if err := w.merge(ctx, "", &p.merge, merge); err != nil {
		return nil, err
	}
	if err := w.merge(ctx, "status", &p.merge, status); err != nil {
		return nil, err
	}
	if len(p.transformations) == 0 {
		return nil, nil
	}
	fresh, err := w.fresh(p)
	if err != nil {
		return nil, err
	}
	wanted, err := p.transformed(ctx, fresh)
	if err != nil {
		return nil, err
	}
	operations := patches.Diff(fresh, wanted)
	bodyOps, statusOps := operations, []patches.Operation(nil)
	if w.hasStatus() {
		bodyOps, statusOps = patches.Split(operations)
	}
	for _, part := range []struct {
		subresource string
		operations  []patches.Operation
	}{{"", bodyOps}, {"status", statusOps}} {
		lost, err := w.transform(ctx, part.subresource, fresh, part.operations)
		if err != nil {
			return nil, err
		}
		if lost {
			return p.transformations, nil
		}
		if fresh, err = w.fresh(p); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// fresh is the object as it is known now: for the guest's functions the whole of it.
func (w *writing) fresh(p *patch) (dicts.Object, error) {
	raw := w.answer
	switch {
	case raw != nil:
	case slices.ContainsFunc(p.transformations, func(t transformation) bool { return t.task != nil }):
		raw = w.before.raw
	default:
		return w.before.body, nil
	}
	return dicts.DecodeObject(raw)
}

func (w *writing) hasStatus() bool {
	for _, name := range w.resource.Subresources {
		if name == "status" {
			return true
		}
	}
	return false
}

// split takes the status out of a patch where it has an endpoint of its own.
func (w *writing) split(merge dicts.Object) (body, status dicts.Object) {
	value, ok := merge["status"]
	if !ok || !w.hasStatus() {
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

// merge sends a part of a merge patch.
func (w *writing) merge(ctx context.Context, subresource string, whole *stores.Patch, part dicts.Object) error {
	if len(part) == 0 {
		return nil
	}
	what := "resource"
	if subresource != "" {
		what = subresource
	}
	payload, err := whole.Encode(part)
	if err != nil {
		return err
	}
	w.log.debug(fmt.Sprintf("Merge-patching the %s with: %s", what, payload))
	return w.send(ctx, subresource, clients.MergePatch, payload)
}

// transform applies operations if the object is still the one they were made for.
// If it is not, they are lost for now: a newer event is on its way.
func (w *writing) transform(ctx context.Context, subresource string, fresh dicts.Object, operations []patches.Operation) (lost bool, err error) {
	if len(operations) == 0 {
		return false, nil
	}
	what := "resource"
	if subresource != "" {
		what = subresource
	}
	version := dicts.LookupString(fresh, "metadata", "resourceVersion")
	payload, err := json.Marshal(patches.WithTest(version, operations))
	if err != nil {
		return false, err
	}
	w.log.debug(fmt.Sprintf("JSON-patching the %s with: %s", what, payload))
	err = w.send(ctx, subresource, clients.JSONPatch, payload)
	if code, ok := clients.Code(err); ok && code == http.StatusUnprocessableEntity {
		w.log.debug("Could not apply the patch in full due to conflicts with newer changes. Will try on the next cycle soon.")
		return true, nil
	}
	return false, err
}

func (w *writing) send(ctx context.Context, subresource, contentType string, payload []byte) error {
	path, err := pathOf(w.resource, w.before.body, subresource)
	if err != nil {
		return err
	}
	data, err := w.client.PatchReleasing(ctx, path, contentType, payload, w.release)
	if err != nil {
		return err
	}
	w.answer = data
	w.result, err = dicts.DecodeParts(data, w.concerned)
	if err != nil {
		return fmt.Errorf("the answer to a patch: %w", err)
	}
	return nil
}

// concerned tells which parts of an answer are of interest: what was merged, to check
// it, and what tells about the version.
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

func pathOf(resource selectors.Resource, body dicts.Object, subresource string) (apipath.Path, error) {
	return resource.URL(dicts.LookupString(body, "metadata", "namespace"), dicts.LookupString(body, "metadata", "name"), subresource)
}

// version is what the next events are expected to have at least; empty if nothing
// has changed, so that no event will come. The removal of the last finalizer makes
// no new version either: the object just goes away.
func (w *writing) version() string {
	version := dicts.LookupString(w.result, "metadata", "resourceVersion")
	switch {
	case causes.IsReleased(w.result):
		return version + "~which~never~arrives"
	case version == dicts.LookupString(w.before.body, "metadata", "resourceVersion"):
		return ""
	}
	return version
}
