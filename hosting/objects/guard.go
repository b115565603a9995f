package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/slots"
	"github.com/kopf-wasm/kopf/reactor/backoffs"
)

// Finalizer is the finalizer of the host on declarations whose operators have to leave before
// they are gone.
const Finalizer = "hosting.kopf.dev/release"

// guard adds the finalizer of the host to declarations, and removes it. Requests for one
// declaration follow each other.
type guard struct {
	set func(ctx context.Context, key hosting.Key, uid string, wanted bool) error
	log zerolog.Logger

	requests *slots.Pool // of the requests at the same time; the owners are namespaces, whose webhooks can let a request take long

	mu      sync.Mutex // guards the fields below
	objects map[hosting.Key]*guarded
	ctx     context.Context //nolint:containedctx // of run; nil before it. See RATIONALE.md: "Which structs hold a context, and why?"
	all     sync.WaitGroup
}

// guarded is a declaration.
type guarded struct {
	uid     string
	has     bool // the finalizer, as it was seen last or written last
	wanted  bool
	held    bool // by hold, until its status asks for the finalizer, too
	leaving bool // it is being deleted
	left    bool // and the operator has left
	busy    bool // a goroutine writes

	protected chan struct{} // closed when it has the finalizer; nil: no operator waits for that
}

// note notes whether the object has the finalizer.
func (o *guarded) note(has bool) {
	if o.has = has; has && o.protected != nil {
		close(o.protected)
		o.protected = nil
	}
}

func newGuard(client dynamic.Interface, log zerolog.Logger) *guard {
	g := &guard{log: log, requests: slots.New(writers), objects: map[hosting.Key]*guarded{}}
	g.set = func(ctx context.Context, key hosting.Key, uid string, wanted bool) error {
		return setFinalizer(ctx, client.Resource(resource(key.Kind)).Namespace(key.Namespace), key.Name, uid, wanted)
	}
	return g
}

// setFinalizer adds or removes the finalizer, unless another object has the name now. It
// leaves other finalizers where they are.
func setFinalizer(ctx context.Context, client dynamic.ResourceInterface, name, uid string, wanted bool) error {
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && string(object.GetUID()) != uid {
		return nil
	}
	if err != nil {
		return err
	}
	finalizers := object.GetFinalizers()
	if slices.Contains(finalizers, Finalizer) == wanted || wanted && object.GetDeletionTimestamp() != nil {
		return nil
	}
	if wanted {
		finalizers = append(finalizers, Finalizer)
	} else {
		finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return f == Finalizer })
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "resourceVersion": object.GetResourceVersion(), "finalizers": finalizers}})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// of returns what is known about an object; nothing yet about a new one of its name. The caller holds
// the lock.
func (g *guard) of(key hosting.Key, uid string) *guarded {
	o := g.objects[key]
	if o == nil || o.uid != uid {
		o = &guarded{uid: uid}
		g.objects[key] = o
	}
	return o
}

// observed notes whether an object has the finalizer, and whether its spec wants it.
func (g *guard) observed(key hosting.Key, uid string, has, wanted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.of(key, uid)
	o.held = o.held && !wanted
	o.wanted = wanted || o.held
	if !o.busy {
		o.note(has)
	}
	g.work(key, o)
}

// hold adds the finalizer before something of an operator is in the cluster that has to go with the declaration, and waits until the
// declaration has it. Later, the status says so.
func (g *guard) hold(ctx context.Context, key hosting.Key, uid string) error {
	g.mu.Lock()
	o := g.objects[key]
	if o == nil || o.uid != uid || o.leaving { // this host knows that the operator has to leave
		g.mu.Unlock()
		return nil
	}
	if !o.wanted {
		o.held, o.wanted = true, true
	}
	if o.has && !o.busy {
		g.mu.Unlock()
		return nil
	}
	if o.protected == nil {
		o.protected = make(chan struct{})
	}
	protected := o.protected
	g.work(key, o) //nolint:contextcheck // it takes the context of run from the struct: the object has to get the finalizer in any case
	g.mu.Unlock()
	select {
	case <-protected:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leaves notes an object with the finalizer that is being deleted. It is false if its
// operator has left already.
func (g *guard) leaves(key hosting.Key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.of(key, uid)
	o.note(true)
	o.leaving, o.wanted = true, !o.left
	g.work(key, o)
	return !o.left
}

// left notes that the operator of a declaration has left: the finalizer is not needed any
// more. It has no effect on a new declaration of the same name.
func (g *guard) left(key hosting.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.objects[key]; o != nil && o.leaving {
		o.left, o.wanted = true, false
		g.work(key, o)
	}
}

func (g *guard) forget(key hosting.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.objects, key)
}

// work starts a goroutine that writes, if there is something to write. The caller holds the
// lock.
func (g *guard) work(key hosting.Key, o *guarded) {
	if g.ctx == nil || g.ctx.Err() != nil || o.busy || o.has == o.wanted {
		return
	}
	o.busy = true
	ctx := g.ctx
	g.all.Go(func() { g.write(ctx, key, o) }) // Waited for by run.
}

// run writes until the context ends.
func (g *guard) run(ctx context.Context) {
	g.mu.Lock()
	g.ctx = ctx
	for key, o := range g.objects {
		g.work(key, o) //nolint:contextcheck // it takes the context of run from the struct, as the callers that have none do
	}
	g.mu.Unlock()
	<-ctx.Done()
	g.all.Wait()
}

// conflictPause is the first pause after a conflict. It is short: a declaration that is deleted before it has the finalizer leaves those
// of its operator behind.
const conflictPause = 20 * time.Millisecond

// write writes until the object is as wanted.
func (g *guard) write(ctx context.Context, key hosting.Key, o *guarded) {
	pauses := backoffs.Doubling{First: firstPause, Most: lastPause}
	conflicts := backoffs.Doubling{First: conflictPause, Most: lastPause}
	for {
		g.mu.Lock()
		wanted := o.wanted
		if o.has == wanted || g.objects[key] != o {
			o.note(o.has) // an operator may have begun to wait since the last write
			o.busy = false
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		err := g.request(ctx, key, o.uid, wanted)
		var pause time.Duration
		switch {
		case err == nil:
			g.mu.Lock()
			o.note(wanted)
			g.mu.Unlock()
			pauses.Reset()
			conflicts.Reset()
			continue
		case apierrors.IsConflict(err): // another client has changed the object, such as the host its status
			pause = conflicts.Next()
		default:
			pause = pauses.Next()
			g.log.Warn().Err(err).Str("operator", key.String()).Str("finalizer", Finalizer).Dur("pause", pause).Msg("The finalizer of the host cannot be written; the host tries again.")
		}
		if backoffs.Pause(ctx, pause) != nil {
			g.mu.Lock()
			o.busy = false
			g.mu.Unlock()
			return
		}
	}
}

func (g *guard) request(ctx context.Context, key hosting.Key, uid string, wanted bool) error {
	n, err := g.requests.Take(ctx, key.Namespace, 1)
	if err != nil {
		return fmt.Errorf("the finalizer of %s: %w", key, err)
	}
	defer g.requests.Give(key.Namespace, n)
	return g.set(ctx, key, uid, wanted)
}

// mustLeave reports whether a spec wants the finalizer of the host.
func mustLeave(spec *api.Spec) bool {
	mode, _ := spec.Removal()
	return mode == api.Release || mode == api.ReleaseAfter
}
