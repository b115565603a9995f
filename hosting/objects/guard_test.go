package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
)

// sink notes what a source declares.
type sink struct{ calls []string }

func (s *sink) Declare(d hosting.Declaration) {
	text := "declare " + d.UID
	if d.Leaving {
		text = "leave " + d.UID
	}
	s.calls = append(s.calls, text)
}

func (s *sink) Remove(hosting.Key) { s.calls = append(s.calls, "remove") }

// guardian is a source with a guard that notes its writes, each of which takes a second.
type guardian struct {
	*Source
	*sink
	known map[hosting.Key]bool

	mu    sync.Mutex // guards all below
	sets  []string
	fails error
}

func guarding(t *testing.T) *guardian {
	t.Helper()
	x := &guardian{sink: &sink{}, known: map[hosting.Key]bool{}}
	x.Source = &Source{written: newWriter(nil, zerolog.Nop()), guard: newGuard(nil, zerolog.Nop())}
	x.guard.set = func(_ context.Context, key hosting.Key, uid string, wanted bool) error {
		time.Sleep(time.Second)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.sets = append(x.sets, fmt.Sprint(key.Name, " ", uid, " ", wanted))
		return x.fails
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // Waited for by the clean-up.
		defer close(done)
		x.guard.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
	return x
}

// seen shows an object to the source.
func (x *guardian) seen(uid string, mode api.Finalizers, deleted bool, finalizers ...string) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.APIVersion, "kind": string(api.Namespaced), "metadata": map[string]any{"name": "a", "namespace": "ns"},
		"spec": map[string]any{"module": "ghcr.io/me/op:v1", "serviceAccountName": "sa", "onRemoval": map[string]any{"finalizers": string(mode)}},
	}}
	object.SetUID(types.UID(uid))
	object.SetFinalizers(finalizers)
	if deleted {
		object.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	x.changed(x.sink, x.known, api.Namespaced, object)
	synctest.Wait()
}

func (x *guardian) wrote(t *testing.T, want ...string) {
	t.Helper()
	time.Sleep(time.Hour)
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.Equal(x.sets, want) {
		t.Errorf("wrote %q, want %q", x.sets, want)
	}
	x.sets = nil
}

// TestFinalizersAreWrittenSoonAfterConflicts: the host itself writes the status of a new declaration. One that was deleted within a second
// had no finalizer yet, and those of its operator stayed.
func TestFinalizersAreWrittenSoonAfterConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := guarding(t)
		var written time.Time
		conflicts := 3
		x.guard.set = func(context.Context, hosting.Key, string, bool) error {
			if conflicts--; conflicts >= 0 {
				return apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("changed"))
			}
			written = time.Now()
			return nil
		}
		began := time.Now()
		x.seen("u", api.Release, false)
		time.Sleep(time.Hour)
		synctest.Wait()
		if took := written.Sub(began); written.IsZero() || took > time.Second/2 {
			t.Errorf("written after %v", took)
		}
	})
}

// TestDeclarationsThatMustBeReleasedHaveAFinalizer: while their spec asks for it, and until
// their operators have left.
func TestDeclarationsThatMustBeReleasedHaveAFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := guarding(t)
		x.seen("u", api.Keep, false)
		x.wrote(t)
		x.seen("u", api.Release, false)
		x.seen("u", api.Release, false)
		x.wrote(t, "a u true")
		x.seen("u", api.Release, false, Finalizer)
		x.wrote(t)
		x.seen("u", api.Keep, false, Finalizer)
		x.wrote(t, "a u false")
		x.seen("u", api.ReleaseAfter, true, "other", Finalizer)
		x.seen("u", api.ReleaseAfter, true, "other", Finalizer)
		x.wrote(t)
		x.Report(key, nil)
		x.wrote(t, "a u false")
		x.seen("u", api.ReleaseAfter, true, "other", Finalizer) // from before the write
		x.wrote(t, "a u false")
		x.seen("u", api.ReleaseAfter, true, "other")
		want := []string{"declare u", "declare u", "declare u", "declare u", "declare u", "leave u", "leave u", "remove"}
		if !slices.Equal(x.calls, want) {
			t.Errorf("calls %q", x.calls)
		}
	})
}

// TestADeclarationIsRemovedOnce: without the finalizer of the host, but with that of another client, an object is deleted in two steps.
// The second one must not end the departure that has begun with the first one.
func TestADeclarationIsRemovedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := guarding(t)
		x.seen("u", api.Release, false)
		x.seen("u", api.Release, true, "other")
		x.forget(x.sink, x.known, key) // as the watch does
		if want := []string{"declare u", "remove"}; !slices.Equal(x.calls, want) {
			t.Errorf("calls %q", x.calls)
		}
	})
}

// TestInvalidDeclarationsSayWhatIsRemoved: the host may have served them before it was upgraded.
func TestInvalidDeclarationsSayWhatIsRemoved(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		to, s := &last{}, &Source{written: newWriter(nil, zerolog.Nop()), guard: newGuard(nil, zerolog.Nop())}
		object := declared("a", nil)
		object.SetUID("u")
		object.SetFinalizers([]string{Finalizer})
		object.Object["spec"].(map[string]any)["verification"] = map[string]any{}
		object.Object["spec"].(map[string]any)["onRemoval"] = map[string]any{"finalizers": "Release"}
		if deleted {
			object.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}
		s.changed(to, map[hosting.Key]bool{}, api.Namespaced, object)
		if to.Problem == nil || to.Leaving != deleted || (to.Spec.OnRemoval != nil) != deleted {
			t.Errorf("deleted %t: %+v", deleted, to.Declaration)
		}
	}
}

// TestANamespaceIsFollowedOnce: also if it is named twice. Otherwise, its declarations would be removed twice.
func TestANamespaceIsFollowedOnce(t *testing.T) {
	s, err := New(Options{Config: &rest.Config{Host: "localhost"}, Namespaces: []string{"b", "a", "b"}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if want := []place{{api.Namespaced, "a"}, {api.Namespaced, "b"}}; !slices.Equal(s.places, want) {
		t.Errorf("places %v", s.places)
	}
}

// TestAHostThatWasAwayObeysADeletion: it finds an object that is being deleted.
func TestAHostThatWasAwayObeysADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := guarding(t)
		x.fails = errors.New("forbidden")
		x.seen("u", api.Release, true, Finalizer)
		x.Report(key, nil)
		time.Sleep(10 * time.Second)
		x.mu.Lock()
		x.fails = nil
		x.sets = nil
		x.mu.Unlock()
		x.wrote(t, "a u false")
		x.seen("v", api.Release, false) // of the same name
		x.Report(key, nil)              // too late, about the first one
		x.wrote(t, "a v true")
		if want := []string{"leave u", "declare v"}; !slices.Equal(x.calls, want) {
			t.Errorf("calls %q", x.calls)
		}
	})
}

// TestWebhooksWaitForTheFinalizer: a host that is killed must not leave webhooks behind whose declaration can go unnoticed. The
// finalizer stays until the status has named webhooks, and none any more.
func TestWebhooksWaitForTheFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := guarding(t)
		own := hosting.Key{Kind: api.Namespaced, Namespace: "ns", Name: "a"}
		hold := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			if err := x.Hold(t.Context(), own, "1"); err != nil || time.Since(began) != want {
				t.Errorf("held after %v, want %v, error %v", time.Since(began), want, err)
			}
		}
		hold(0) // nothing is declared
		x.seen("1", api.Keep, false)
		hold(time.Second)
		hold(0)
		x.seen("1", api.Keep, false, Finalizer) // without a status
		hold(0)
		x.wrote(t, "a 1 true")
		x.guard.observed(own, "1", true, true) // its status names webhooks
		x.wrote(t)
		x.seen("1", api.Keep, false, Finalizer) // none any more
		x.wrote(t, "a 1 false")
		x.seen("1", api.Keep, false)
		x.mu.Lock()
		x.fails = errors.New("the API server is away")
		x.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := x.Hold(ctx, own, "1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// TestSlowNamespacesDelayNoGuard: admission webhooks of a namespace can let each request about its declarations take long.
func TestSlowNamespacesDelayNoGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := guarding(t)
		usual := x.guard.set
		x.guard.set = func(ctx context.Context, key hosting.Key, uid string, wanted bool) error {
			if key.Namespace == "slow" {
				time.Sleep(time.Minute)
			}
			return usual(ctx, key, uid, wanted)
		}
		for i := range 2 * writers {
			x.guard.observed(hosting.Key{Kind: api.Namespaced, Namespace: "slow", Name: fmt.Sprint(i)}, "u", false, true)
		}
		synctest.Wait()
		x.guard.observed(hosting.Key{Kind: api.Namespaced, Namespace: "other", Name: "a"}, "u", false, true)
		time.Sleep(10 * time.Second)
		x.mu.Lock()
		if !slices.Equal(x.sets, []string{"a u true"}) {
			t.Errorf("written %q", x.sets)
		}
		x.mu.Unlock()
	})
}
