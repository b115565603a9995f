// Package finalizers finds the objects that have the finalizer of an operator, and removes
// this finalizer. It makes all requests with the credentials of the operator.
package finalizers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-wasm/kopf/reactor/apipath"
	"github.com/kopf-wasm/kopf/reactor/clients"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/discovery"
	"github.com/kopf-wasm/kopf/reactor/patching"
	"github.com/kopf-wasm/kopf/reactor/selectors"
)

// Limits of requests.
const (
	pageSize  = 500     // objects of a listing; fewer, if they are large
	maxAnswer = 8 << 20 // bytes of an answer: an object has less
	maxTries  = 5       // of one object that others change at the same time

	requestTimeout = 30 * time.Second
)

// Content types that ask the API server for the metadata of objects only.
const (
	ofList   = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	ofObject = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// Options say whose finalizer is meant, and where it can be. All are required, except
// Namespaces and Log.
type Options struct {
	// Login returns the credentials of the operator.
	Login func(ctx context.Context) (*credentials.Info, error)

	Finalizer  string         // the name of the finalizer, in its exact form
	Resources  []string       // names as in operator.Facts: kopfexamples.v1.kopf.dev
	Namespaces []string       // names or patterns; empty: the whole cluster
	Limits     clients.Limits // of rates
	Guard      patching.Guard // of each patch; nil: no other host runs the operator

	// Compute decodes an answer, or looks for the resources, as computing of the operator; nil: as the host's own.
	Compute func(ctx context.Context, do func())

	Log zerolog.Logger
}

// Finalizers are the objects that have the finalizer of one operator.
//
// # Guarantees
//
//   - No other finalizer is removed, and nothing else of an object changes.
//   - One request is made at a time.
type Finalizers struct {
	options Options
	client  *clients.Client
	stop    func()
	vault   sync.WaitGroup // its goroutine

	places []place // nil: not known yet
	hidden error   // of resources that may exist, but cannot be found now
}

// place is a resource in one namespace, or in the whole cluster.
type place struct {
	resource  selectors.Resource
	namespace string // empty: the whole cluster
}

// object is what is read of an object. All other metadata, of which tenants choose as much as they like, is not even decoded.
type object struct {
	Metadata struct {
		Name              string    `json:"name"`
		Namespace         string    `json:"namespace"`
		UID               types.UID `json:"uid"`
		ResourceVersion   string    `json:"resourceVersion"`
		DeletionTimestamp *string   `json:"deletionTimestamp"`
		Finalizers        []string  `json:"finalizers"`
	} `json:"metadata"`
}

// list is a page of objects.
type list struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []object `json:"items"`
}

// New makes Finalizers. The caller must call Close.
func New(ctx context.Context, o Options) *Finalizers {
	if o.Compute == nil {
		o.Compute = func(_ context.Context, do func()) { do() }
	}
	vault := credentials.New(func(ctx context.Context, _ bool) (map[string]credentials.Info, error) {
		info, err := o.Login(ctx)
		if err != nil {
			return nil, err
		}
		return map[string]credentials.Info{"host": *info}, nil
	})
	ctx, cancel := context.WithCancel(ctx)
	f := &Finalizers{options: o, stop: cancel}
	f.vault.Go(func() { _ = vault.Run(ctx) }) // Waited for by Close. The requests get its error.
	f.client = clients.New(vault, func() clients.Options {
		return clients.Options{RequestTimeout: requestTimeout, ConnectTimeout: requestTimeout, Limits: o.Limits, FinalRefusals: true}
	}, func(message string) { o.Log.Debug().Msg(message) })
	return f
}

// Close ends the goroutine that logs in, and waits for it.
func (f *Finalizers) Close() {
	f.stop()
	f.vault.Wait()
}

// Deleting counts the objects that wait for this finalizer to be removed: those that are
// being deleted.
//
// Errors: those of the login and of the API server.
func (f *Finalizers) Deleting(ctx context.Context) (int, error) {
	count := 0
	err := f.each(ctx, func(_ place, o *object) error {
		if o.Metadata.DeletionTimestamp != nil {
			count++
		}
		return nil
	})
	return count, err
}

// Release removes the finalizer from all objects. It continues after an object that fails.
//
// Errors: those of the login and of the API server. The count is that of the released
// objects in any case.
func (f *Finalizers) Release(ctx context.Context) (released int, err error) {
	var failures []error
	err = f.each(ctx, func(at place, o *object) error {
		if err := f.release(ctx, at, o); err != nil {
			if len(failures) < maxFailures {
				failures = append(failures, fmt.Errorf("%s/%s: %w", o.Metadata.Namespace, o.Metadata.Name, err))
			}
			return ctx.Err()
		}
		released++
		return nil
	})
	return released, errors.Join(append(failures, err)...)
}

// maxFailures is how many failures an error names.
const maxFailures = 5

// each calls a function for each object that has the finalizer.
func (f *Finalizers) each(ctx context.Context, do func(at place, o *object) error) error {
	if err := f.find(ctx); err != nil {
		return err
	}
	failures := []error{f.hidden}
	for _, at := range f.places {
		failures = append(failures, f.in(ctx, at, do))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failures...)
}

// in is each for one place.
func (f *Finalizers) in(ctx context.Context, at place, do func(at place, o *object) error) error {
	path, err := at.resource.URL(at.namespace, "", "")
	if err != nil {
		return err
	}
	return f.pages(ctx, path, func(o *object) error {
		if slices.Contains(o.Metadata.Finalizers, f.options.Finalizer) {
			return do(at, o)
		}
		return nil
	})
}

// pages calls a function for each object of a list, whose pages have fewer objects if these are large. A list that does not exist
// has none: the resource or the namespace is gone, and its objects are.
func (f *Finalizers) pages(ctx context.Context, path apipath.Path, do func(o *object) error) error {
	query, limit := url.Values{}, pageSize
	for {
		query.Set("limit", strconv.Itoa(limit))
		var page list
		err := f.request(ctx, ofList, http.MethodGet, path, query, nil, &page)
		switch {
		case errors.Is(err, errLarge) && limit > 1:
			limit = max(limit/8, 1)
			continue
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		for i := range page.Items {
			if err := do(&page.Items[i]); err != nil {
				return err
			}
		}
		if page.Metadata.Continue == "" {
			return nil
		}
		query.Set("continue", page.Metadata.Continue)
		limit = min(2*limit, pageSize)
	}
}

// release removes the finalizer from one object.
func (f *Finalizers) release(ctx context.Context, at place, o *object) error {
	path, err := at.resource.URL(o.Metadata.Namespace, o.Metadata.Name, "")
	if err != nil {
		return err
	}
	uid := o.Metadata.UID
	for range maxTries {
		kept := slices.DeleteFunc(slices.Clone(o.Metadata.Finalizers), func(name string) bool { return name == f.options.Finalizer })
		if len(kept) == len(o.Metadata.Finalizers) || o.Metadata.UID != uid {
			return nil
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "resourceVersion": o.Metadata.ResourceVersion, "finalizers": kept}})
		if err != nil {
			return err
		}
		if f.options.Guard != nil {
			if _, err := f.options.Guard.Hold(); err != nil {
				return err
			}
		}
		err = f.request(ctx, ofObject, http.MethodPatch, path, nil, patch, nil)
		if !apierrors.IsConflict(err) {
			return ignoreGone(err)
		}
		o = &object{}
		if err := f.request(ctx, ofObject, http.MethodGet, path, nil, nil, o); err != nil {
			return ignoreGone(err)
		}
	}
	return fmt.Errorf("gave up after %d conflicts: another writer keeps changing the object", maxTries)
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// request makes one request. A nil target ignores the answer.
func (f *Finalizers) request(ctx context.Context, accept, method string, path apipath.Path, query url.Values, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	header := http.Header{"Accept": {accept}}
	if body != nil {
		header.Set("Content-Type", clients.MergePatch)
	}
	answer, err := f.client.Send(ctx, method, path, query, header, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %w", method, path, clients.ReadError(answer))
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxAnswer:
		return fmt.Errorf("%s %s: %w", method, path, errLarge)
	}
	if into == nil {
		return nil
	}
	f.options.Compute(ctx, func() { err = json.Unmarshal(text, into) })
	return err
}

// errLarge says that an answer has more than maxAnswer bytes.
var errLarge = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// find finds the lists of the resources.
func (f *Finalizers) find(ctx context.Context) error {
	if f.places != nil {
		return nil
	}
	all, err := discovery.Scan(ctx, f.client.Discover)
	if all == nil {
		return fmt.Errorf("the resources of the cluster: %w", err)
	}
	namespaces, failure := f.namespaces(ctx)
	if failure != nil {
		return failure
	}
	places := []place{}
	f.options.Compute(ctx, func() { // authors who may write the status choose how many resources it names
		known := map[selectors.Key]bool{}
		for _, name := range f.options.Resources {
			key := keyOf(name)
			resource, found := among(all, key)
			if !found && lacks(err, key.Group) {
				f.hidden = err
			}
			if !found || known[resource.Key()] {
				continue
			}
			known[resource.Key()] = true
			scopes := namespaces
			if !resource.Namespaced {
				scopes = []string{""}
			}
			for _, namespace := range scopes {
				places = append(places, place{resource, namespace})
			}
		}
	})
	f.places = places
	return nil
}

// keyOf reads the name of a resource: kopfexamples.v1.kopf.dev.
func keyOf(name string) selectors.Key {
	plural, rest, _ := strings.Cut(name, ".")
	version, group, _ := strings.Cut(rest, ".")
	return selectors.Key{Group: group, Version: version, Plural: plural}
}

// among returns a resource: in another version if that one is not served any more, as the objects are the same.
func among(all []selectors.Resource, key selectors.Key) (resource selectors.Resource, found bool) {
	for _, r := range all {
		switch {
		case r.Plural != key.Plural || r.Group != key.Group:
		case r.Version == key.Version:
			return r, true
		case !found:
			resource, found = r, true
		}
	}
	return resource, found
}

// lacks reports whether a discovery lacks a version of a group.
func lacks(err error, group string) bool {
	var incomplete *discovery.Incomplete
	if !errors.As(err, &incomplete) {
		return false
	}
	for version := range incomplete.Groups {
		if version.Group == group {
			return true
		}
	}
	return false
}

// namespaces lists the served namespaces. The empty name is the whole cluster. If the
// operator may not list namespaces, only those exist for it that are named.
func (f *Finalizers) namespaces(ctx context.Context) ([]string, error) {
	patterns := selectors.ParseNamespaces(f.options.Namespaces)
	exact := patterns.Exact()
	switch len(patterns) {
	case 0:
		return []string{""}, nil
	case len(exact):
		return exact, nil
	}
	path, err := apipath.Of(apipath.Target{Version: "v1", Plural: "namespaces"})
	if err != nil {
		return nil, err
	}
	names := []string{}
	err = f.pages(ctx, path, func(o *object) error {
		if patterns.Match(o.Metadata.Name) {
			names = append(names, o.Metadata.Name)
		}
		return nil
	})
	if apierrors.IsForbidden(err) {
		return exact, nil
	}
	return names, err
}
