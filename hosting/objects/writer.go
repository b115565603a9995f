package objects

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// writers is how many objects are written at the same time, half of them of one namespace: its webhooks for declarations and events can
// let a request take as long as the API server allows.
const writers = 4

// Events about the declarations of one namespace: so many at once, and then one each second. Authors who change their declarations again
// and again would fill the storage of the cluster by the host.
const (
	eventsAtOnce = 1000
	eventPause   = time.Second
)

// maxNote bounds the message of an event, in bytes, as the API server does.
const maxNote = 1000

// writer writes the statuses of objects. For each object it writes the newest one only, and
// none that the object has.
type writer struct {
	patch func(ctx context.Context, key hosting.Key, patch []byte) error                      // of a status
	post  func(ctx context.Context, namespace string, event *unstructured.Unstructured) error // of an event
	log   zerolog.Logger
	rival func(host string, everywhere bool) // gets the name of another host that reports about the same objects: see isEverywhere
	queue chan struct{}                      // has a token when an object may be pending

	mu      sync.Mutex // guards the fields below
	objects map[hosting.Key]*object
	posted  map[string]*rate.Limiter // of events, by namespaces
}

// object is what is known about the status of one object.
type object struct {
	uid     string
	present *api.Status // on the server
	wanted  *api.Status // nil: nothing to write
	newest  *api.Status // what was wanted last; nil: nothing
	rival   string      // the host that has changed the status last; empty: none
	late    bool        // a timer compares the present status with the newest one
	seen    *seen       // what the watch has shown while a writer had the object; nil: nothing
	busy    bool        // a writer has it
	pauses  backoffs.Doubling
	doubts  backoffs.Doubling // pauses before corrections
}

// seen is a status of the watch; nil: the object has none.
type seen struct{ status *api.Status }

func newWriter(client dynamic.Interface, log zerolog.Logger) *writer {
	w := &writer{log: log, rival: func(string, bool) {}, queue: make(chan struct{}, writers), objects: map[hosting.Key]*object{}, posted: map[string]*rate.Limiter{}}
	w.patch = func(ctx context.Context, key hosting.Key, patch []byte) error {
		_, err := client.Resource(resource(key.Kind)).Namespace(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
		return err
	}
	w.post = func(ctx context.Context, namespace string, event *unstructured.Unstructured) error {
		_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: fieldManager})
		return err
	}
	return w
}

// fieldManager owns the fields that a host writes.
const fieldManager = "kopf-serve"

// observed notes the status that the server has.
func (w *writer) observed(key hosting.Key, uid string, present *api.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.objects[key]
	if o == nil || o.uid != uid {
		o = &object{uid: uid, pauses: backoffs.Doubling{First: firstPause, Most: lastPause}, doubts: backoffs.Doubling{First: correction, Most: lastPause}}
		w.objects[key] = o
	}
	if o.busy {
		o.seen = &seen{present}
		return
	}
	o.present = present
	w.doubt(o)
}

// doubt plans a correction, if the status on the server differs from the newest one of the host.
// The caller holds the lock.
func (w *writer) doubt(o *object) {
	if o.newest != nil && o.wanted == nil && !o.late && !same(o.present, o.newest) && !onlyHostIsDropped(o.present, o.newest) {
		o.late = true
		time.AfterFunc(o.doubts.Next(), func() { w.correct(o) })
	}
}

// correction is how long a status that differs from the host's may stay: the watch may be late,
// and others who write it are not answered at once each time.
const correction = 2 * time.Second

// correct asks for the newest status to be written again. Another client has changed it, unless
// the watch was late.
func (w *writer) correct(o *object) {
	w.mu.Lock()
	o.late, o.rival = false, ""
	everywhere := false
	if o.wanted == nil {
		o.wanted = o.newest // not written if the server has it by now
		if o.present != nil && o.present.Host != o.newest.Host {
			o.rival = o.present.Host
			everywhere = w.isEverywhere(o.rival)
		}
	}
	rival := o.rival
	w.mu.Unlock()
	if rival != "" {
		w.rival(rival, everywhere)
	}
	w.wake()
}

// isEverywhere reports whether a host has changed statuses in most namespaces, or of the cluster kind. Otherwise it may be nothing but a
// name: owners of a namespace often may write the statuses in it. The caller holds the lock.
func (w *writer) isEverywhere(host string) bool {
	all, found := map[string]bool{}, map[string]bool{}
	for key, o := range w.objects {
		if o.newest != nil {
			all[key.Namespace] = true
		}
		if o.rival == host {
			found[key.Namespace] = true
		}
	}
	return found[""] || 2*len(found) > len(all)
}

func (w *writer) forget(key hosting.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.objects, key)
}

// want asks for a status to be written.
func (w *writer) want(key hosting.Key, status *api.Status) {
	w.mu.Lock()
	if o := w.objects[key]; o != nil {
		o.wanted, o.newest = status, status
		o.doubts.Reset()
	}
	w.mu.Unlock()
	w.wake()
}

func (w *writer) wake() {
	select {
	case w.queue <- struct{}{}:
	default: // all writers are awake
	}
}

// run writes until the context ends.
func (w *writer) run(ctx context.Context) {
	var all sync.WaitGroup // Waited for below.
	for range writers {
		all.Go(func() {
			for {
				select {
				case <-w.queue:
					for w.writeOne(ctx) {
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	all.Wait()
}

// take returns an object to write; nil without one.
func (w *writer) take() (key hosting.Key, taken *object, wanted *api.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	busy := map[string]int{} // by namespaces
	for key, o := range w.objects {
		if o.busy {
			busy[key.Namespace]++
		}
	}
	for key, o := range w.objects {
		if o.wanted == nil || o.busy || busy[key.Namespace] >= writers/2 { // who writes for the namespace continues
			continue
		}
		if same(o.present, o.wanted) {
			o.wanted = nil
			continue
		}
		wanted, o.wanted, o.busy, o.seen = o.wanted, nil, true, nil
		return key, o, wanted
	}
	return hosting.Key{}, nil, nil
}

// same reports whether two statuses are equal on the server.
func same(a, b *api.Status) bool {
	if a == nil || b == nil {
		return a == b
	}
	first, err := json.Marshal(a)
	second, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(first) == string(second)
}

// onlyHostIsDropped reports whether a status was written but for the host: definitions of an earlier version drop this field, so
// it would be written again for ever.
func onlyHostIsDropped(present, wanted *api.Status) bool {
	if present == nil || present.Host != "" {
		return false
	}
	whole := *present
	whole.Host = wanted.Host
	return same(&whole, wanted)
}

// writeOne writes one status; false without any.
func (w *writer) writeOne(ctx context.Context) bool {
	key, o, status := w.take()
	if o == nil {
		return false
	}
	err := w.write(ctx, key, o.uid, status)
	if ready := status.Find(api.Ready); err == nil || apierrors.IsNotFound(err) && ready != nil && ready.Reason == api.ReleaseFailed {
		w.announce(ctx, key, o, status)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o.busy = false
	if err == nil {
		o.present = status
		o.pauses.Reset()
	}
	if o.seen != nil { // before or after the write, which can have an effect and fail
		o.present = o.seen.status
	}
	switch {
	case err == nil:
		w.doubt(o)
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil: // the object is gone, or another one
	default:
		pause := o.pauses.Next()
		w.log.Warn().Err(err).Str("operator", key.String()).Dur("pause", pause).Msg("The status cannot be written; the host tries again.")
		time.AfterFunc(pause, func() { w.again(o) })
	}
	return true
}

// again asks for the newest status to be written, after a write has failed.
func (w *writer) again(o *object) {
	w.mu.Lock()
	o.wanted = o.newest // not written if the server has it by now
	w.mu.Unlock()
	w.wake()
}

// write replaces the status of an object. The identity of the object makes the server refuse
// the status of a deleted object for a new one of its name.
func (w *writer) write(ctx context.Context, key hosting.Key, uid string, status *api.Status) error {
	fields := map[string]any{"observedGeneration": nil, "module": nil, "digest": nil, "handlers": nil, "webhooks": nil, "resources": nil, "finalizer": nil, "restarts": nil, "host": nil, "conditions": nil}
	text, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	var patch []byte
	if err == nil {
		patch, err = json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": fields})
	}
	if err != nil {
		return fmt.Errorf("the status of %s: %w", key, err)
	}
	return w.patch(ctx, key, patch)
}

// announce posts events about the conditions that people have to know of at once. Events are
// lost if they cannot be posted, or if there are too many: the status says the same.
func (w *writer) announce(ctx context.Context, key hosting.Key, o *object, status *api.Status) {
	if now := status.Find(api.Ready); now != nil && now.Reason != "Loading" && differs(o.present.Find(api.Ready), now) {
		w.event(ctx, key, o.uid, now, status.Is(api.Degraded))
	}
	before, now := o.present.Find(api.Throttled), status.Find(api.Throttled)
	if now != nil && differs(before, now) && (now.Status == api.True || before != nil && before.Status == api.True) {
		limited := *now
		if limited.Status != api.True {
			limited.Reason = "Unthrottled"
		}
		w.event(ctx, key, o.uid, &limited, now.Status == api.True)
	}
}

// differs reports whether a condition has another value or another reason than before.
func differs(before, now *api.Condition) bool {
	return before == nil || before.Status != now.Status || before.Reason != now.Reason
}

// mayPost reports whether there are not too many events about the declarations of a namespace.
func (w *writer) mayPost(namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := w.posted[namespace]
	if limit == nil {
		limit = rate.NewLimiter(rate.Every(eventPause), eventsAtOnce)
		w.posted[namespace] = limit
	}
	return limit.Allow()
}

// event posts an event about a condition, unless there are too many.
func (w *writer) event(ctx context.Context, key hosting.Key, uid string, now *api.Condition, warning bool) {
	if !w.mayPost(key.Namespace) {
		return
	}
	kind := "Normal"
	if warning {
		kind = "Warning"
	}
	at := time.Now().UTC()
	namespace := cmp.Or(key.Namespace, metav1.NamespaceDefault)
	event := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"name": fmt.Sprintf("%.200s.%x", key.Name, at.UnixNano()), "namespace": namespace},
		"involvedObject": map[string]any{"apiVersion": api.APIVersion, "kind": string(key.Kind), "namespace": key.Namespace, "name": key.Name, "uid": uid},
		"type":           kind, "reason": now.Reason, "message": legible.Short(now.Message, maxNote),
		"firstTimestamp": at.Format(time.RFC3339), "lastTimestamp": at.Format(time.RFC3339), "count": int64(1),
		"source": map[string]any{"component": "kopf"}, "reportingComponent": "kopf.dev/serve",
	}}
	if err := w.post(ctx, namespace, event); err != nil && ctx.Err() == nil {
		w.log.Warn().Err(err).Str("operator", key.String()).Msg("An event cannot be posted.")
	}
}
