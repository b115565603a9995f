package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-wasm/kopf/hosting"
	"github.com/kopf-wasm/kopf/hosting/api"
)

// requests keeps what a writer sends.
type requests struct {
	mu       sync.Mutex // guards all below
	statuses []string   // patches
	events   []string   // reasons
	fail     error      // of the next patches
}

func (r *requests) patched(_ context.Context, _ hosting.Key, patch []byte) error {
	r.mu.Lock()
	r.statuses = append(r.statuses, string(patch))
	fail := r.fail
	r.mu.Unlock()
	time.Sleep(time.Second)
	return fail
}

func (r *requests) created(_ context.Context, _ string, event *unstructured.Unstructured) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprint(event.Object["type"], " ", event.Object["reason"]))
	return nil
}

// sent returns what was sent so far.
func (r *requests) sent() (statuses, events []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.statuses), slices.Clone(r.events)
}

// written runs a writer in the bubble of a test.
func written(t *testing.T) (*writer, *requests) {
	t.Helper()
	r := &requests{}
	w := newWriter(nil, zerolog.Nop())
	w.patch, w.post = r.patched, r.created
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // Waited for by the clean-up.
		defer close(done)
		w.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return w, r
}

var key = hosting.Key{Kind: api.Namespaced, Namespace: "ns", Name: "a"}

// status has the condition Ready with a reason.
func status(reason string, generation int64) *api.Status {
	s := &api.Status{ObservedGeneration: generation, Conditions: []api.Condition{{Type: api.Ready, Status: api.False, Reason: reason, Message: "m"}}}
	if reason == "Serving" {
		s.Conditions[0].Status, s.Module = api.True, "m@digest"
	}
	return s
}

// TestStatusesAreWrittenOnce: equal ones are not, and of several only the newest one is. Each
// change of the reason has an event.
func TestStatusesAreWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := written(t)
		w.want(key, status("Serving", 1)) // of an object that is unknown
		synctest.Wait()
		w.observed(key, "u", nil)
		for i := range int64(100) {
			w.want(key, status("Serving", i))
			synctest.Wait() // the first one is being written
		}
		time.Sleep(time.Minute)
		w.observed(key, "u", status("Serving", 99)) // the watch returns our own write
		w.want(key, status("Serving", 99))
		time.Sleep(time.Minute)
		statuses, events := r.sent()
		if len(statuses) != 2 || len(events) != 1 || events[0] != "Normal Serving" {
			t.Fatalf("written %q, posted %q", statuses, events)
		}
		var patch struct {
			Metadata map[string]any
			Status   map[string]any
		}
		if err := json.Unmarshal([]byte(statuses[1]), &patch); err != nil {
			t.Fatal(err)
		}
		if absent, named := patch.Status["digest"]; patch.Metadata["uid"] != "u" || patch.Status["observedGeneration"] != 99.0 || absent != nil || !named {
			t.Errorf("patch %s", statuses[1])
		}
		w.want(key, status("Ended", 99))
		time.Sleep(time.Minute)
		if statuses, events := r.sent(); len(statuses) != 3 || len(events) != 2 {
			t.Errorf("written %d times, posted %q", len(statuses), events)
		}
		for _, truth := range []api.Truth{api.False, api.True, api.True, api.False} {
			s := status("Ended", 99)
			s.Conditions = append(s.Conditions, api.Condition{Type: api.Throttled, Status: truth, Reason: map[api.Truth]string{api.True: "LoopRate", api.False: "None"}[truth]})
			w.want(key, s)
			time.Sleep(time.Minute)
		}
		if _, events := r.sent(); len(events) != 4 || events[2] != "Warning LoopRate" || events[3] != "Normal Unthrottled" {
			t.Errorf("posted %q", events)
		}
	})
}

// TestFailedWritesAreRepeated: until the newest status is written. The status of an object
// that is gone, or that another one has replaced, is dropped.
func TestFailedWritesAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := written(t)
		w.observed(key, "u", nil)
		set := func(err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.fail, r.statuses = err, nil
		}
		set(errors.New("no connection"))
		w.want(key, status("Serving", 1))
		time.Sleep(8 * time.Second) // after 0, 2 and 5 seconds; the next one is after 10
		if statuses, _ := r.sent(); len(statuses) != 3 {
			t.Errorf("%d attempts", len(statuses))
		}
		set(nil)
		time.Sleep(time.Hour)
		if statuses, _ := r.sent(); len(statuses) != 1 {
			t.Errorf("%d attempts after the connection is back", len(statuses))
		}
		for _, gone := range []error{
			apierrors.NewNotFound(resource(key.Kind).GroupResource(), "a"),
			apierrors.NewConflict(resource(key.Kind).GroupResource(), "a", errors.New("another uid")),
		} {
			set(gone)
			w.want(key, status("Ended", 2))
			time.Sleep(time.Hour)
			if statuses, _ := r.sent(); len(statuses) != 1 {
				t.Errorf("%v: %d attempts", gone, len(statuses))
			}
		}
	})
}

// TestAFailedWriteIsNotRepeatedLater: after a newer status, an earlier one was written again, with its event. A write that had an effect,
// though its answer was lost, hid that the server did not have the newest status.
func TestAFailedWriteIsNotRepeatedLater(t *testing.T) {
	for reason, answered := range map[string]bool{"Serving": false, "Ended": true} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, r := written(t)
				w.observed(key, "u", status(reason, 1))
				r.fail = errors.New("no connection")
				w.want(key, status("Loading", 1))
				synctest.Wait() // it is being written
				if answered {
					w.observed(key, "u", status("Loading", 1))
				}
				time.Sleep(1500 * time.Millisecond) // it has failed
				r.mu.Lock()
				r.fail, r.statuses = nil, nil
				r.mu.Unlock()
				w.want(key, status("Ended", 1))
				time.Sleep(time.Minute)
				if statuses, _ := r.sent(); len(statuses) != 1 || !strings.Contains(statuses[0], `"Ended"`) {
					t.Errorf("written %q", statuses)
				}
			})
		})
	}
}

// TestForgedStatusesAreWrittenAgain: what another client has written does not stay. A watch that
// is late causes no request.
func TestForgedStatusesAreWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := written(t)
		w.observed(key, "u", nil)
		for _, reason := range []string{"Loading", "Ended"} {
			w.want(key, status(reason, 1))
			time.Sleep(2 * time.Second)
		}
		for _, reason := range []string{"Loading", "Ended"} { // the watch is late
			w.observed(key, "u", status(reason, 1))
		}
		time.Sleep(time.Minute)
		if statuses, _ := r.sent(); len(statuses) != 2 {
			t.Fatalf("written %q", statuses)
		}
		for range 100 {
			w.observed(key, "u", status("Serving", 1)) // forged, again and again
		}
		time.Sleep(time.Minute)
		statuses, events := r.sent()
		if len(statuses) != 3 || !strings.Contains(statuses[2], `"Ended"`) || len(events) != 2 {
			t.Errorf("written %q, posted %q", statuses, events)
		}
	})
}

// TestForgedWhileWritten: a status that another client writes right after the host's does not stay.
func TestForgedWhileWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := written(t)
		w.observed(key, "u", nil)
		w.want(key, status("Ended", 1))
		synctest.Wait() // it is being written
		w.observed(key, "u", status("Ended", 1))
		w.observed(key, "u", status("Serving", 1)) // forged
		time.Sleep(time.Minute)
		if statuses, _ := r.sent(); len(statuses) != 2 || !strings.Contains(statuses[1], `"Ended"`) {
			t.Errorf("written %q", statuses)
		}
	})
}

// TestADroppedHostIsNotWrittenAgain: definitions of an earlier version drop the host of a status. A host that another client writes is
// corrected.
func TestADroppedHostIsNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := written(t)
		w.observed(key, "u", nil)
		mine, other := status("Serving", 1), status("Serving", 1)
		mine.Host, other.Host = "me", "another"
		w.want(key, mine)
		time.Sleep(time.Minute)
		w.observed(key, "u", status("Serving", 1))
		time.Sleep(time.Minute)
		if statuses, _ := r.sent(); len(statuses) != 1 || !strings.Contains(statuses[0], `"host":"me"`) {
			t.Errorf("written %q", statuses)
		}
		w.observed(key, "u", other)
		time.Sleep(time.Minute)
		if statuses, _ := r.sent(); len(statuses) != 2 {
			t.Errorf("written %q", statuses)
		}
	})
}

// TestRivals: a host learns of another one that reports about the same object: it corrects the status again. A host that has
// ended does not, and one that drops the field is not known.
func TestRivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := written(t)
		var rivals []string
		w.rival = func(name string, everywhere bool) {
			if rivals = append(rivals, name); !everywhere {
				t.Error("the only namespace is not everywhere")
			}
		}
		mine, theirs := status("Serving", 1), status("Serving", 1)
		mine.Host, theirs.Host = "me", "other"
		w.observed(key, "u", theirs) // of a host that has ended, maybe
		w.want(key, mine)
		time.Sleep(time.Hour)
		w.observed(key, "u", mine)
		w.observed(key, "u", theirs)
		w.observed(key, "u", mine) // the watch was late
		time.Sleep(time.Hour)
		if statuses, _ := r.sent(); len(statuses) != 1 || len(rivals) > 0 {
			t.Errorf("written %q, rivals %q", statuses, rivals)
		}
		for range 100 {
			w.observed(key, "u", theirs)
			time.Sleep(10 * time.Second)
		}
		if statuses, _ := r.sent(); len(statuses) > 30 || len(rivals) < 2 || rivals[0] != "other" {
			t.Errorf("written %d times, rivals %q", len(statuses), rivals)
		}
	})
}

// TestRivalOfOneTenant: an account that may write the statuses of one namespace only, as its owner often may, cannot end the host.
func TestRivalOfOneTenant(t *testing.T) {
	for _, tt := range []struct {
		spaces     []string // whose statuses the other one writes
		everywhere bool
	}{{[]string{"a"}, false}, {[]string{"a", "b"}, true}, {[]string{""}, true}} {
		synctest.Test(t, func(t *testing.T) {
			w, _ := written(t)
			var certain atomic.Bool
			w.rival = func(_ string, everywhere bool) { certain.CompareAndSwap(false, everywhere) }
			mine, theirs := status("Serving", 1), status("Serving", 1)
			mine.Host, theirs.Host = "me", "other"
			for _, namespace := range []string{"", "a", "b"} {
				for _, name := range []string{"x", "y"} {
					w.observed(hosting.Key{Namespace: namespace, Name: name}, "u", theirs) // of a host that has ended, maybe
					w.want(hosting.Key{Namespace: namespace, Name: name}, mine)
				}
			}
			time.Sleep(time.Minute)
			for _, namespace := range tt.spaces {
				for _, name := range []string{"x", "y"} {
					w.observed(hosting.Key{Namespace: namespace, Name: name}, "u", theirs)
				}
			}
			time.Sleep(time.Minute)
			if found := certain.Load(); found != tt.everywhere {
				t.Errorf("in the namespaces %q: everywhere %t", tt.spaces, found)
			}
		})
	}
}

// TestSlowNamespacesDelayNoOther: admission webhooks of a namespace can let each request about its declarations take long.
func TestSlowNamespacesDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := written(t)
		usual := w.patch
		w.patch = func(ctx context.Context, key hosting.Key, patch []byte) error {
			if key.Namespace == "slow" {
				time.Sleep(time.Minute)
			}
			return usual(ctx, key, patch)
		}
		of := func(namespace, name string) hosting.Key {
			return hosting.Key{Kind: api.Namespaced, Namespace: namespace, Name: name}
		}
		const slow = 2 * writers
		for i := range slow {
			w.observed(of("slow", fmt.Sprint(i)), "u", nil)
			w.want(of("slow", fmt.Sprint(i)), status("Serving", 1))
		}
		synctest.Wait()
		w.observed(of("other", "a"), "u", nil)
		w.want(of("other", "a"), status("Serving", 1))
		time.Sleep(10 * time.Second)
		if statuses, _ := r.sent(); len(statuses) != 1 {
			t.Errorf("%d statuses are written", len(statuses))
		}
		time.Sleep(time.Hour)
		if statuses, _ := r.sent(); len(statuses) != slow+1 {
			t.Errorf("in the end, %d statuses are written", len(statuses))
		}
	})
}

// TestEventsAreBounded: an author who changes declarations all the time, or makes new ones, does not fill the storage of the cluster. Events
// about the declarations of others are posted.
func TestEventsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := newWriter(nil, zerolog.Nop()), &requests{}
		w.post = r.created
		changes := func(namespace string, count int) {
			for i := range count {
				k := hosting.Key{Kind: api.Namespaced, Namespace: namespace, Name: fmt.Sprint("op-", i)}
				w.announce(t.Context(), k, &object{uid: fmt.Sprint(i)}, status("InvalidSpec", 1))
			}
		}
		for _, step := range []struct {
			namespace     string
			pause         time.Duration
			count, posted int
		}{
			{"ns", 0, 5000, eventsAtOnce},
			{"ns", time.Minute, 5000, eventsAtOnce + 60},
			{"other", 0, 10, eventsAtOnce + 70},
		} {
			time.Sleep(step.pause)
			changes(step.namespace, step.count)
			if _, events := r.sent(); len(events) != step.posted {
				t.Errorf("%s: %d events, want %d", step.namespace, len(events), step.posted)
			}
		}
	})
}
