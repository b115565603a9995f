// Package objects reads declarations from custom resources, WasmOperator and
// ClusterWasmOperator, and writes their status and events about them.
package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/hosting/apiserver"
	"github.com/kopf-wasm/kopf/internal/legible"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// Pauses after failed requests.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// missingTime is how long a definition has to be missing until its objects are: a proxy without a server, or a server that has just
// started, can say so for a while, and all operators would end.
const missingTime = time.Minute

// Options configure a source.
type Options struct {
	Config     *rest.Config // of the host
	Namespaces []string     // whose WasmOperators are served; empty: all namespaces, and the ClusterWasmOperators
	Replica    bool         // the host is one of several that know of each other
	Log        zerolog.Logger
}

// Source reads declarations from a cluster.
type Source struct {
	client  dynamic.Interface
	server  string // where it is, for errors
	places  []place
	log     zerolog.Logger
	written *writer
	guard   *guard

	began  time.Time               // of Run
	end    context.CancelCauseFunc // ends Run
	logged atomic.Int64            // when a rival was last logged, in seconds
}

// place is where one kind of declarations is listed and watched.
type place struct {
	kind      api.Kind
	namespace string // empty: everywhere
}

// New creates a source without connecting.
func New(o Options) (*Source, error) {
	config := rest.CopyConfig(o.Config)
	config.QPS = -1 // declarations are few, and a limit delays the first status of many
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the credentials of the host: %w", err)
	}
	places := []place{{api.Namespaced, ""}, {api.Cluster, ""}}
	if len(o.Namespaces) > 0 {
		places = nil
		for _, namespace := range slices.Compact(slices.Sorted(slices.Values(o.Namespaces))) { // each is followed once
			places = append(places, place{api.Namespaced, namespace})
		}
	}
	log := o.Log.With().Str("logger", "kopf.hosting").Logger()
	s := &Source{client: client, server: config.Host, places: places, log: log, written: newWriter(client, log), guard: newGuard(client, log)}
	if !o.Replica {
		s.written.rival = s.met
	}
	return s, nil
}

func resource(kind api.Kind) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: kind.Plural()}
}

func (p place) of(client dynamic.Interface) dynamic.ResourceInterface {
	return client.Resource(resource(p.kind)).Namespace(p.namespace)
}

// ErrNotInstalled says that the cluster lacks a part that kopf serve --install prints.
var ErrNotInstalled = errors.New("run: kopf serve --install | kubectl apply -f -")

// Check checks that the cluster has the definitions, that the host may read them, and that
// the policy protects them.
//
// Errors: ErrNotInstalled, and what the host may not do.
func (s *Source) Check(ctx context.Context, policy bool) error {
	for _, p := range s.places {
		_, err := p.of(s.client).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("the cluster does not know the resource %s.%s: %w", p.kind.Plural(), api.Group, ErrNotInstalled)
		case apierrors.IsForbidden(err):
			return fmt.Errorf("the host may not list the resource %s.%s: %w: %w", p.kind.Plural(), api.Group, ErrNotInstalled, err)
		case err != nil:
			return fmt.Errorf("%s.%s at %s: %w", p.kind.Plural(), api.Group, s.server, err)
		}
	}
	if !policy {
		return nil
	}
	group := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	for _, plural := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"} {
		_, err := s.client.Resource(group.WithResource(plural)).Get(ctx, PolicyName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("the cluster has no %s of the name %s, so authors of a %s could use any service account of its namespace: %w", plural, PolicyName, api.Namespaced, ErrNotInstalled)
		case err != nil:
			return fmt.Errorf("the host cannot see whether the policy %s protects service accounts: %w: %w", PolicyName, ErrNotInstalled, err)
		}
	}
	return nil
}

// PolicyName is the name of the ValidatingAdmissionPolicy and of its binding.
const PolicyName = "impersonation.hosting.kopf.dev"

// RetryAnnotation is the annotation of a declaration that makes the host try it again when
// the value changes, also in quarantine.
const RetryAnnotation = "hosting.kopf.dev/retry"

// ErrRival says that another host serves the same declarations.
var ErrRival = errors.New("another host serves the same declarations, so each operator would run twice: stop one of the hosts, start both with --replicas, or let them serve different namespaces by --namespace")

// establishedAfter is how long a host has to serve until it continues in spite of another one: the later host ends.
const establishedAfter = 15 * time.Second

// maxHost bounds the name of a host in messages, in bytes: any account that may write a status can choose it.
const maxHost = 253

// met notes that another host corrects the statuses that this one writes.
func (s *Source) met(host string, everywhere bool) {
	now := time.Now()
	if err := fmt.Errorf("%w: the other one is %s", ErrRival, legible.Short(host, maxHost)); everywhere && now.Sub(s.began) < establishedAfter {
		s.end(err)
	} else if last := s.logged.Load(); now.Unix()-last >= 60 && s.logged.CompareAndSwap(last, now.Unix()) {
		s.log.Error().Err(err).Msg("Operators run twice.")
	}
}

// Run declares what the cluster has, until the context ends.
//
// Errors: ErrRival.
func (s *Source) Run(ctx context.Context, to hosting.Sink) error {
	ctx, s.end = context.WithCancelCause(ctx)
	defer s.end(nil)
	s.began = time.Now()
	var all sync.WaitGroup // Waited for below.
	for _, p := range s.places {
		all.Go(func() { s.follow(ctx, p, to) })
	}
	all.Go(func() { s.written.run(ctx) })
	all.Go(func() { s.guard.run(ctx) })
	all.Wait()
	if err := context.Cause(ctx); errors.Is(err, ErrRival) {
		return err
	}
	return nil
}

// follow lists and watches one place. After a failure it lists again.
func (s *Source) follow(ctx context.Context, p place, to hosting.Sink) {
	known := map[hosting.Key]bool{}
	var missing time.Time // since when the definition has been missing; zero: it is there
	for pauses := (backoffs.Doubling{First: firstPause, Most: lastPause}); ; {
		began := time.Now()
		listed, err := s.listAndWatch(ctx, p, to, known)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastPause {
			pauses.Reset()
		}
		switch {
		case listed, !apierrors.IsNotFound(err):
			missing = time.Time{}
		case missing.IsZero():
			missing = time.Now()
		case time.Since(missing) >= missingTime: // The definition was removed, and all objects with it.
			for key := range known {
				s.forget(to, known, key)
			}
		}
		s.log.Warn().Err(err).Str("resource", p.kind.Plural()).Str("namespace", p.namespace).Msg("The declarations cannot be watched; the host tries again.")
		if backoffs.Pause(ctx, pauses.Next()) != nil {
			return
		}
	}
}

// listAndWatch declares all objects, and then their changes, until a watch fails. It reports whether it has listed the objects.
func (s *Source) listAndWatch(ctx context.Context, p place, to hosting.Sink, known map[hosting.Key]bool) (listed bool, err error) {
	present := map[hosting.Key]bool{}
	version, err := apiserver.List(ctx, p.of(s.client), func(o *unstructured.Unstructured) { //nolint:contextcheck // the guard writes with the context of its own run
		present[s.changed(to, known, p.kind, o)] = true
	})
	if err != nil {
		return false, err
	}
	for key := range known {
		if !present[key] {
			s.forget(to, known, key)
		}
	}
	return true, apiserver.Follow(ctx, p.of(s.client), version, apiserver.Watcher{
		Changed: func(o *unstructured.Unstructured) { s.changed(to, known, p.kind, o) }, //nolint:contextcheck // the guard writes with the context of its own run
		Deleted: func(o *unstructured.Unstructured) { s.forget(to, known, keyOf(p.kind, o)) },
	})
}

func keyOf(kind api.Kind, object *unstructured.Unstructured) hosting.Key {
	return hosting.Key{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

// changed declares an object.
func (s *Source) changed(to hosting.Sink, known map[hosting.Key]bool, kind api.Kind, object *unstructured.Unstructured) hosting.Key {
	key := keyOf(kind, object)
	leaving, guarded := object.GetDeletionTimestamp() != nil, slices.Contains(object.GetFinalizers(), Finalizer)
	if leaving && !guarded {
		s.forget(to, known, key)
		return key
	}
	if leaving && !s.guard.leaves(key, string(object.GetUID())) {
		return key
	}
	retry, _, _ := unstructured.NestedString(object.Object, "metadata", "annotations", RetryAnnotation) // without a copy of all
	d := hosting.Declaration{Key: key, UID: string(object.GetUID()), Generation: object.GetGeneration(), Retry: retry, Leaving: leaving}
	for _, unused := range []string{"annotations", "labels", "managedFields"} {
		unstructured.RemoveNestedField(object.Object, "metadata", unused) // authors choose their size
	}
	text, err := object.MarshalJSON()
	var decoded *api.Operator
	if err == nil {
		decoded, err = api.Decode(text)
	}
	if err == nil {
		err = decoded.Check(false)
	}
	if decoded != nil {
		d.Spec, d.Reported = decoded.Spec, decoded.Status
	}
	if d.Problem = err; err != nil && !leaving { // what has to be removed is known all the same
		d.Spec = api.Spec{}
	}
	if !leaving {
		s.guard.observed(key, d.UID, guarded, err == nil && mustLeave(&d.Spec) || err != nil && guarded || d.Reported != nil && d.Reported.Webhooks > 0)
	}
	known[key] = true
	s.written.observed(d.Key, d.UID, d.Reported)
	to.Declare(d)
	return key
}

// forget removes a declaration once: to remove it again would end the departure of its operator.
func (s *Source) forget(to hosting.Sink, known map[hosting.Key]bool, key hosting.Key) {
	if !known[key] {
		return
	}
	delete(known, key)
	to.Remove(key)
	s.written.forget(key)
	s.guard.forget(key)
}

// Hold implements hosting.Options.Hold: the declaration gets the finalizer of the host.
func (s *Source) Hold(ctx context.Context, key hosting.Key, uid string) error {
	return s.guard.hold(ctx, key, uid)
}

// Report writes a status. With nil, after the operator of a deleted object has left, the
// object may go. Report does not wait for the cluster.
func (s *Source) Report(key hosting.Key, status *api.Status) {
	if status == nil {
		s.guard.left(key)
		return
	}
	s.written.want(key, status)
}
