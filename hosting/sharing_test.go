package hosting

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-wasm/kopf/hosting/api"
	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator"
	"github.com/kopf-wasm/kopf/operator/apiserver"
)

// feed is the watch of the declarations of one host. What happens arrives in its order, and late.
type feed struct {
	late   time.Duration
	events chan event
}

// event is what a host sees from a time on.
type event struct {
	due  time.Time
	show func(h *Host)
}

// follow lets a host see all declarations from now on.
func (w *town) follow(t *twin) {
	if !w.shared {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.feeds[t.name]
	if f == nil {
		f = &feed{late: 50 * time.Millisecond}
		w.feeds[t.name] = f
	}
	f.events = make(chan event, 10000)
	for _, d := range w.present {
		t.Declare(d)
	}
	ended := make(chan struct{})
	go func() { // Waited for by the clean-up.
		defer close(ended)
		for e := range f.events {
			if time.Sleep(time.Until(e.due)); e.show == nil {
				return
			}
			e.show(t.Host)
		}
	}()
	w.t.Cleanup(func() {
		w.note(func() { f.events <- event{time.Now(), nil} })
		<-ended
	})
}

// tell lets all hosts see an event. The caller holds the lock.
func (w *town) tell(show func(h *Host)) {
	for _, f := range w.feeds {
		f.events <- event{time.Now().Add(f.late), show}
	}
}

// declare creates or changes a declaration.
func (w *town) declare(d Declaration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, ok := w.present[d.Key]; ok {
		d.Generation, d.Reported = before.Generation+1, before.Reported
	}
	w.present[d.Key] = d
	w.tell(func(h *Host) { h.Declare(d) })
}

// stored keeps what a host has reported, as the status of the declaration.
func (w *town) stored(key Key, s *api.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, ok := w.present[key]
	switch {
	case !w.shared || !ok:
	case s != nil:
		d.Reported = s
		w.present[key] = d
		w.tell(func(h *Host) { h.Declare(d) })
	case d.Leaving: // the finalizer of the host goes, and the declaration with it
		delete(w.present, key)
		w.tell(func(h *Host) { h.Remove(key) })
	}
}

// remove deletes a declaration.
func (w *town) remove(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.present[key]
	if mode, _ := d.Spec.Removal(); mode == api.Keep {
		delete(w.present, key)
		w.tell(func(h *Host) { h.Remove(key) })
		return
	}
	d.Leaving, d.Generation = true, d.Generation+1
	w.present[key] = d
	w.tell(func(h *Host) { h.Declare(d) })
}

// shop creates or changes an object.
func (w *town) shop(namespace, name, field string) {
	w.t.Helper()
	object := dicts.Object{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": dicts.Object{"name": name, "namespace": namespace}, "spec": dicts.Object{"field": field}}
	if err := w.server.Apply(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func operatorOf(namespace, name string) Declaration {
	return Declaration{Key: Key{Kind: api.Namespaced, Namespace: namespace, Name: name}, UID: "uid-" + name, Generation: 1, Spec: api.Spec{Module: "m", ServiceAccountName: "sa"}}
}

// settle waits until some hosts share all objects of an operator, each object has its daemon in one of them, and all of them have some.
func (w *town) settle(d Declaration, names []string, twins ...*twin) {
	w.t.Helper()
	w.until("the shares of "+d.Key.Name, func() bool {
		held := 0
		for _, h := range twins {
			mine := 0
			for _, name := range names {
				if w.Running(h.name+": "+d.Key.String(), name) {
					mine++
				}
			}
			if mine == 0 || h.Replicas().Members != len(twins) {
				return false
			}
			held += mine
		}
		return held == len(names)
	})
}

// TestHostsShareTheObjectsOfAllOperators: hosts join, are stopped, and lose their connection, while objects of two operators are created
// and changed, and one operator gets a new version. Each change is handled once, and no object is handled in two hosts at once.
func TestHostsShareTheObjectsOfAllOperators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t)
		w.shared = true
		north, south := operatorOf("default", "north"), operatorOf("other", "south")
		const objects = 20
		names := map[string][]string{}
		for i := range objects {
			names["default"] = append(names["default"], fmt.Sprint("north-", i))
			names["other"] = append(names["other"], fmt.Sprint("south-", i))
		}
		changes := 0
		change := func() {
			for namespace, all := range names {
				for _, name := range all {
					w.shop(namespace, name, fmt.Sprint(changes))
					time.Sleep(50 * time.Millisecond)
				}
			}
			changes++
		}
		change()
		w.declare(north)
		w.declare(south)
		settle := func(twins ...*twin) {
			t.Helper()
			w.settle(north, names["default"], twins...)
			w.settle(south, names["other"], twins...)
		}
		one, two := w.host("one"), w.host("two")
		settle(one, two)
		time.Sleep(time.Minute)
		change()
		three := w.host("three")
		settle(one, two, three)
		time.Sleep(time.Minute)
		north.Spec.Limits = map[string]string{"Unknown": "1"}
		w.declare(north)
		change()
		time.Sleep(time.Minute)
		settle(one, two, three) // with the earlier version
		north.Spec.Limits, north.Spec.Grants = nil, &api.Grants{Config: map[string]string{"key": "value"}}
		w.declare(north) // it has to be started again
		change()
		time.Sleep(time.Minute)
		settle(one, two, three)
		w.mu.Lock()
		for _, h := range []*twin{one, two, three} {
			if w.loaded[h.name] != 3 {
				t.Errorf("%s has loaded %d operators", h.name, w.loaded[h.name])
			}
		}
		w.mu.Unlock()

		leader := func(twins ...*twin) (leads *twin, others []*twin) {
			t.Helper()
			for _, h := range twins {
				if h.Replicas().Leads {
					leads = h
				} else {
					others = append(others, h)
				}
			}
			if leads == nil || len(others) != len(twins)-1 {
				t.Fatalf("%d of %d hosts follow", len(others), len(twins))
			}
			return leads, others
		}
		first, rest := leader(one, two, three)
		for _, h := range rest {
			if f := h.Facts()[0]; f.Standby || !f.Ready || w.reported(h.name, "") {
				t.Errorf("%s follows: %+v, and has reported: %v", h.name, f, w.reported(h.name, ""))
			}
		}
		first.stop()
		change()
		if err := <-first.end; err != nil {
			t.Errorf("the stopped leader ends with %v", err)
		}
		settle(rest...)
		time.Sleep(time.Minute)
		second, rest := leader(rest...)
		w.until("a report of the new leader", func() bool { return w.reported(second.name, "north: Serving, true") })
		rest = append(rest, w.host("four"))
		settle(append(rest, second)...)
		time.Sleep(time.Minute) // a handler whose host is lost before the patch is called again
		second.Cut.Store(true)
		if err := <-second.end; !errors.Is(err, operator.ErrLeaseLost) {
			t.Errorf("the leader without a connection ends with %v", err)
		}
		change()
		settle(rest...)
		time.Sleep(time.Minute)
		for _, overlap := range w.Overlaps() {
			t.Error("at once: ", overlap)
		}
		for change, times := range w.Done() {
			if times != 1 {
				t.Errorf("%s was handled %d times", change, times)
			}
		}
		for _, all := range names {
			for _, name := range all {
				if w.Done()[fmt.Sprint(name, " ", changes-1)] != 1 {
					t.Errorf("the last change of %s was not handled", name)
				}
			}
		}
	})
}

// sharedTown makes a town whose hosts share the objects, with some shops.
func sharedTown(t *testing.T) (w *town, names []string) {
	t.Helper()
	w = newTown(t)
	w.shared = true
	for i := range 20 {
		names = append(names, fmt.Sprint("shop-", i))
		w.shop("default", names[i], "0")
	}
	return w, names
}

// TestHostsThatShareAgreeOnOverlaps: they see two operators for the same objects in different orders, and run the one that the leader
// runs. The other one takes over when that is deleted.
func TestHostsThatShareAgreeOnOverlaps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, names := sharedTown(t)
		a, b := operatorOf("default", "a"), operatorOf("default", "b")
		twins := []*twin{w.host("one"), w.host("two"), w.host("three")}
		w.until("three members", func() bool {
			return !slices.ContainsFunc(twins, func(h *twin) bool { return h.Replicas().Members != len(twins) })
		})
		w.mu.Lock()
		for i, h := range twins { // the first host sees one declaration first, the last host the other one
			w.feeds[h.name].late = time.Duration(i) * 3 * time.Second
		}
		w.mu.Unlock()
		w.note(func() { w.present[b.Key] = b })
		w.declare(a)
		twins[2].Declare(b) // before it sees the other one
		time.Sleep(time.Second)
		w.note(func() { d := w.present[b.Key]; w.tell(func(h *Host) { h.Declare(d) }) })
		runs := func() (winner, loser Declaration) {
			t.Helper()
			if twins[0].Status(a.Key).Is(api.Ready) {
				return a, b
			}
			return b, a
		}
		time.Sleep(time.Minute)
		winner, loser := runs()
		w.settle(winner, names, twins...)
		for _, h := range twins {
			if h.Status(loser.Key).Is(api.Ready) || h.Host.tenants[loser.Key].present.Load() != nil {
				t.Errorf("%s runs both", h.name)
			}
		}
		if c := w.present[loser.Key].Reported.Find(api.Shared); c == nil || c.Status != api.False || !w.present[loser.Key].Reported.Is(api.Overlapping) {
			t.Errorf("the leader has reported %+v", w.present[loser.Key].Reported)
		}
		w.remove(winner.Key)
		w.settle(loser, names, twins...)
		for _, overlap := range w.Overlaps() {
			t.Error("at once: ", overlap)
		}
	})
}

// TestFinalizersGoAfterAllHostsHaveEndedTheOperator: also those that learn of the deletion late. Otherwise, they would add the
// finalizers again.
func TestFinalizersGoAfterAllHostsHaveEndedTheOperator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, names := sharedTown(t)
		d := operatorOf("default", "shops")
		d.Spec.OnRemoval = &api.OnRemoval{Finalizers: api.Release}
		w.declare(d)
		twins := []*twin{w.host("one"), w.host("two"), w.host("three")}
		w.settle(d, names, twins...)
		w.mu.Lock()
		for _, h := range twins {
			if !h.Replicas().Leads {
				w.feeds[h.name].late = time.Minute
			}
		}
		w.mu.Unlock()
		w.remove(d.Key)
		w.until("the end of the declaration", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.present) == 0 })
		check := func() {
			t.Helper()
			for _, name := range names {
				object := w.server.Get(apiserver.Reference{Kind: "Shop", Namespace: "default", Name: name})
				if finalizers, _ := dicts.Lookup(object, "metadata", "finalizers"); object == nil || strings.Contains(fmt.Sprint(finalizers), "kopf") {
					t.Errorf("%s has the finalizers %v", name, finalizers)
				}
			}
		}
		check()
		for _, name := range names {
			w.shop("default", name, "1")
		}
		late := w.host("late") // it has not been asked
		time.Sleep(5 * time.Minute)
		check()
		for _, h := range append(twins, late) {
			if len(h.Keys()) > 0 || w.Busy(h.name+": "+d.Key.String()) > 0 {
				t.Errorf("%s runs the operator", h.name)
			}
		}
		leader := twins[slices.IndexFunc(twins, func(h *twin) bool { return h.Replicas().Leads })]
		if len(leader.dismissals.leaving) > 0 {
			t.Errorf("the leader still asks for %v", leader.dismissals.leaving)
		}
	})
}
