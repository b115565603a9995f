package reactor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"k8s.io/client-go/rest"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/operator/apiserver"
	"github.com/kopf-wasm/kopf/reactor/admission"
	"github.com/kopf-wasm/kopf/reactor/credentials"
	"github.com/kopf-wasm/kopf/reactor/leadership"
	"github.com/kopf-wasm/kopf/reactor/leadership/leadershiptest"
	"github.com/kopf-wasm/kopf/reactor/reactortest"
	"github.com/kopf-wasm/kopf/reactor/registries"
	"github.com/kopf-wasm/kopf/reactor/settings"
)

// late is a body whose parts arrive late.
type late struct {
	io.ReadCloser
	parts chan chunk
	rest  []byte
}

// chunk is a part of a late body.
type chunk struct {
	data []byte
	due  time.Time
	err  error
}

func newLate(body io.ReadCloser, delay time.Duration) *late {
	l := &late{ReadCloser: body, parts: make(chan chunk, 1000)}
	go func() { // It ends with the body.
		for {
			data := make([]byte, 16<<10)
			n, err := body.Read(data)
			l.parts <- chunk{data[:n], time.Now().Add(rand.N(delay)), err}
			if err != nil {
				return
			}
		}
	}()
	return l
}

func (l *late) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		next := <-l.parts
		if time.Sleep(time.Until(next.due)); next.err != nil {
			return 0, next.err
		}
		l.rest = next.data
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// fleet is a number of replicas on one server.
type fleet struct {
	*reactortest.Calls
	t      *testing.T
	server *apiserver.Server
	leader bool // only one of them handles objects
	hooks  func(settings.Admission) (Webhooks, error)
	ending time.Duration // how long daemons take to end
}

// member is a replica of a fleet.
type member struct {
	*Operator
	*reactortest.Wire
	name string
	stop context.CancelFunc
	end  chan error
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	shop := apiserver.Resource{Group: "example.com", Version: "v1", Plural: "shops", Kind: "Shop", Singular: "shop", Namespaced: true, Preferred: true, Verbs: []string{"list", "watch", "patch"}}
	return &fleet{Calls: reactortest.NewCalls(), t: t, server: apiserver.New([]apiserver.Resource{shop}), ending: 3 * time.Second}
}

func (f *fleet) join(name string, delay time.Duration) *member {
	f.t.Helper()
	registry, err := registries.New(&reactortest.Recorder{Calls: f.Calls, Replica: name, Stopping: f.ending})
	if err != nil {
		f.t.Fatal(err)
	}
	late := func(body io.ReadCloser) io.ReadCloser { return newLate(body, delay) }
	m := &member{Wire: &reactortest.Wire{RoundTripper: f.server, Late: late}, name: name, end: make(chan error, 1)}
	info := credentials.Info{Config: &rest.Config{Host: "http://server", Transport: m.Wire}}
	s := settings.Default()
	s.Posting.Enabled, s.Persistence.ConsistencyTimeout = false, time.Minute // longer than the watches are late
	m.Operator, err = New(Options{
		Registry: registry, Settings: s, Identity: name, Lease: &Lease{Name: "op", Namespace: "default", Terms: leadershiptest.Terms(f.t), Shared: !f.leader}, Log: zerolog.New(io.Discard), Webhooks: f.hooks,
		Logins: []credentials.HostLogin{{Name: "test", Get: func(context.Context) (*credentials.Info, error) { return &info, nil }}},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(f.t.Context())
	m.stop = stop
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.end <- m.Run(ctx)
	}()
	f.t.Cleanup(func() { stop(); <-ended })
	return m
}

// put creates or changes an object.
func (f *fleet) put(name, field string) {
	f.t.Helper()
	object := dicts.Object{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": dicts.Object{"name": name, "namespace": "default"}, "spec": dicts.Object{"field": field}}
	if err := f.server.Apply(f.t.Context(), object); err != nil {
		f.t.Fatal(err)
	}
}

// settle waits until some replicas share all objects, and each object has its daemon in one of them.
func (f *fleet) settle(objects int, members ...*member) {
	f.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) {
		held, agreed := 0, true
		for _, m := range members {
			share := m.share()
			if share == nil || share.Members != len(members) || f.Busy(m.name) != share.Objects {
				agreed = false
			} else {
				held += share.Objects
			}
		}
		if agreed && held == objects {
			return
		}
		if time.Now().After(deadline) {
			for _, m := range members {
				f.t.Logf("%s: %+v, %d handlers", m.name, m.share(), f.Busy(m.name))
			}
			f.t.Fatalf("%d of %d objects are held", held, objects)
		}
	}
}

// TestReplicasShareObjectsOnLateWatches: replicas come, go, and lose their connection, while objects are created and changed. Each
// change is handled once, and no object is handled by two at once.
func TestReplicasShareObjectsOnLateWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		const objects, prompt, tardy = 40, time.Second, 15 * time.Second
		names := make([]string, objects)
		for i := range names {
			names[i] = fmt.Sprint("shop-", i)
		}
		for _, name := range names[:20] {
			f.put(name, "0")
		}
		a, b := f.join("a", prompt), f.join("b", prompt)
		f.settle(20, a, b)
		for _, name := range names[20:] {
			f.put(name, "0")
		}
		c := f.join("c", tardy) // while new objects arrive
		f.settle(objects, a, b, c)
		time.Sleep(time.Minute) // otherwise late creations are merged with the first change
		changes := 0
		// change changes all objects within some seconds.
		change := func() {
			changes++
			for _, name := range names {
				f.put(name, fmt.Sprint(changes))
				time.Sleep(200 * time.Millisecond)
			}
		}
		change()
		time.Sleep(2 * time.Second)
		a.stop() // the first one, which is the leader; its last patches have not reached the other ones
		change()
		if err := <-a.end; err != nil {
			t.Errorf("the stopped replica ends with %v", err)
		}
		f.settle(objects, b, c)
		d := f.join("d", tardy)
		change()
		f.settle(objects, b, c, d)
		time.Sleep(time.Minute) // a handler whose replica is lost before the patch is called again
		b.Cut.Store(true)
		if err := <-b.end; !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the replica without a connection ends with %v", err)
		}
		f.settle(objects, c, d)
		e := f.join("e", prompt)
		f.settle(objects, c, d, e)
		change()
		time.Sleep(2 * time.Second)
		e.stop()
		if err := <-e.end; err != nil {
			t.Errorf("the last replica ends with %v", err)
		}
		f.settle(objects, c, d)
		time.Sleep(time.Minute)
		for _, m := range []*member{c, d} {
			if indexed := m.Counts().Indexed; indexed != objects {
				t.Errorf("%s has indexed %d objects", m.name, indexed)
			}
			m.stop()
			if err := <-m.end; err != nil {
				t.Errorf("%s ends with %v", m.name, err)
			}
		}
		f.check(names, changes)
	})
}

func (f *fleet) check(names []string, changes int) {
	f.t.Helper()
	for _, overlap := range f.Overlaps() {
		f.t.Error("at once: ", overlap)
	}
	done := f.Done()
	for _, name := range names {
		for _, field := range []int{0, changes} { // others may be merged
			if times := done[fmt.Sprint(name, " ", field)]; times != 1 {
				f.t.Errorf("the change %d of %s was handled %d times", field, name, times)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(done)) {
		if done[what] > 1 {
			f.t.Errorf("%s was handled %d times", what, done[what])
		}
	}
}

// lingering are webhooks that API servers still ask when the operator ends.
type lingering struct {
	ended *atomic.Bool
	leads chan bool // whether the replica leads when it is stopped
}

func (l lingering) Serve(ctx context.Context, _ *admission.Admission, leader Leader) error {
	<-ctx.Done()
	_, err := leader.HoldLead()
	select {
	case <-leader.Led():
		l.leads <- err == nil
	default:
		l.leads <- false
	}
	time.Sleep(10 * time.Second) // shorter than the lease
	l.ended.Store(true)
	return nil
}

// TestNextReplicaDoesNotWaitForWebhooks: a replica that is stopped gives up its Lease when its handlers of objects have ended, and not
// before; it answers reviews meanwhile.
func TestNextReplicaDoesNotWaitForWebhooks(t *testing.T) {
	t.Parallel()
	for _, leader := range []bool{true, false} {
		t.Run(fmt.Sprint("leader=", leader), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const objects = 20
				f := newFleet(t)
				f.leader = leader
				busy := func(name string) func() bool { return func() bool { return f.Busy(name) == objects } }
				for i := range objects {
					f.put(fmt.Sprint("shop-", i), "0")
				}
				var ended atomic.Bool
				leads := make(chan bool, 1)
				f.hooks = func(settings.Admission) (Webhooks, error) { return lingering{&ended, leads}, nil }
				a := f.join("a", time.Second)
				f.until(busy("a"))
				f.hooks = nil
				b := f.join("b", time.Second)
				time.Sleep(time.Minute)
				a.stop()
				if !<-leads {
					t.Error("the webhooks of the leader do not know that it leads")
				}
				f.until(busy("b"))
				if ended.Load() {
					t.Error("the next replica has waited until the webhooks ended")
				}
				if err := <-a.end; err != nil || !ended.Load() {
					t.Errorf("the stopped replica ends with %v; its webhooks have ended: %v", err, ended.Load())
				}
				b.stop()
				if err := <-b.end; err != nil {
					t.Errorf("the next replica ends with %v", err)
				}
				for _, overlap := range f.Overlaps() {
					t.Error("at once: ", overlap)
				}
			})
		})
	}
}

// TestSlowExitsKeepTheLease: a replica that is stopped renews its Lease until its handlers have ended, however long they take.
func TestSlowExitsKeepTheLease(t *testing.T) {
	t.Parallel()
	for _, leader := range []bool{true, false} {
		t.Run(fmt.Sprint("leader=", leader), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const objects = 5
				f := newFleet(t)
				f.leader, f.ending = leader, 3*leadership.DefaultDuration
				for i := range objects {
					f.put(fmt.Sprint("shop-", i), "0")
				}
				a := f.join("a", time.Second)
				f.until(func() bool { return f.Busy("a") == objects })
				b := f.join("b", time.Second)
				time.Sleep(10 * time.Second) // it waits, or asks for its share
				a.stop()
				if err := <-a.end; err != nil {
					t.Errorf("the stopped replica ends with %v", err)
				}
				f.until(func() bool { return f.Busy("b") == objects })
				b.stop()
				if err := <-b.end; err != nil {
					t.Errorf("the next replica ends with %v", err)
				}
				for _, overlap := range f.Overlaps() {
					t.Error("at once: ", overlap)
				}
			})
		})
	}
}

// until waits until a condition holds.
func (f *fleet) until(holds func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatal("it does not happen")
		}
	}
}
